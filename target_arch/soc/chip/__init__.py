"""Real chips: what their processors cost per instruction, and where each number comes from. Tests:
`tests/soc/chip`.
"""
