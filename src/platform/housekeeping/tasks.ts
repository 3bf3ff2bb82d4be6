import { keepPartitionsOf } from '../db/partitions.ts';
import type { HousekeepingTask } from './task.ts';

/** Partitions of the days to come are made, those of days long past dropped. */
export const partitions: HousekeepingTask = {
  name: 'partitions',
  async run({ database }, asOf, progress) {
    const { made, dropped } = await keepPartitionsOf(database.pool, asOf);
    progress();
    return made.length + dropped.length;
  },
};
