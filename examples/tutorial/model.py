"""A small network for 8x8 digits: `digits.onnx`, its data `digits.npz`, and `frames.h` for the firmware."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
data = load_digits()
images = torch.tensor(data.images / 16, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(data.target)
seen, held_out = slice(0, 1437), slice(1437, None)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.AvgPool2d(4),
    nn.Flatten(),
    nn.Linear(32, 10),
)
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(25):
    for batch in torch.randperm(1437).split(64):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[seen][batch]), labels[seen][batch]).backward()
        optimizer.step()
model.eval()
right = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean()
print(f"held-out accuracy {right:.1%}")

torch.onnx.export(
    model, (images[:1],), "digits.onnx", input_names=["image"], output_names=["scores"], dynamo=False
)
np.savez("digits.npz", image=images[held_out].numpy(), labels=labels[held_out].numpy())
with open("frames.h", "w") as header:
    numbers = ", ".join(f"{value}F" for value in images[-8:].flatten().tolist())
    header.write(f"static const float frames[8][64] = {{{numbers}}};\n")
    header.write(f"static const int labels[8] = {{{', '.join(map(str, labels[-8:].tolist()))}}};\n")
