"""Search for better schedules by measuring, with MetaSchedule."""
