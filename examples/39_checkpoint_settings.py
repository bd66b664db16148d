"""The settings of checkpoints, and what they are after they have been set."""

from firesteel.datastream import CheckpointingMode, ExternalizedCheckpointRetention, StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    # A checkpoint every 1000 ms
    env.enable_checkpointing(1000)
    config = env.get_checkpoint_config()
    # State is exact after a failure (this is the default)
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)
    # At least 500 ms of progress between two checkpoints
    config.set_min_pause_between_checkpoints(500)
    # A checkpoint has a minute, and is given up then
    config.set_checkpoint_timeout(60000)
    # The job fails with the third checkpoint in a row that fails
    config.set_tolerable_checkpoint_failure_number(2)
    # One checkpoint at a time
    config.set_max_concurrent_checkpoints(1)
    # Checkpoints stay when the job is cancelled
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    # Flink lets barriers overtake records; here epochs end by themselves, so there is nothing to wait for
    config.enable_unaligned_checkpoints()

    print("interval", config.get_checkpoint_interval())
    print("mode", config.get_checkpointing_mode().name)
    print("pause", config.get_min_pause_between_checkpoints())
    print("timeout", config.get_checkpoint_timeout())
    print("tolerable failures", config.get_tolerable_checkpoint_failure_number())
    print("concurrent", config.get_max_concurrent_checkpoints())
    print("retention", config.get_externalized_checkpoint_retention().name)
    print("unaligned", config.is_unaligned_checkpoints_enabled())


if __name__ == "__main__":
    main()

# Output:
# interval 1000
# mode EXACTLY_ONCE
# pause 500
# timeout 60000
# tolerable failures 2
# concurrent 1
# retention RETAIN_ON_CANCELLATION
# unaligned True
