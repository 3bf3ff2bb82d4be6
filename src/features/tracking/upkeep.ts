import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

const HIT_DAYS = 90;
const ADDRESS_DAYS = 30;
/** Number of hits truncated by one statement, small enough to keep it short. Hits are processed in order of time. */
const SLICE_MS = 5 * 60_000;

/**
 * Replaces the addresses of hits with their networks: /24 for IPv4, /48 for IPv6. A row stores the progress, so that no
 * hit is read again.
 */
const truncatedAddresses: HousekeepingTask = {
  name: 'tracking_addresses',
  async run({ database: { pool } }, asOf, progress) {
    const end = daysBefore(asOf, ADDRESS_DAYS).getTime();
    const { rows } = await pool.query<{ truncated_before: Date }>(
      'select truncated_before from tracking_addresses',
    );
    let total = 0;
    let from = rows[0]?.truncated_before.getTime() ?? end;
    while (from < end) {
      const to = Math.min(from + SLICE_MS, end);
      const { rowCount } = await pool.query(
        `update tracking_hits set ip = network(set_masklen(ip, case family(ip) when 4 then 24 else 48 end))
         where created_at >= $1 and created_at < $2 and ip is not null
           and masklen(ip) = case family(ip) when 4 then 32 else 128 end`,
        [new Date(from), new Date(to)],
      );
      await pool.query('update tracking_addresses set truncated_before = greatest(truncated_before, $1)', [
        new Date(to),
      ]);
      total += rowCount ?? 0;
      from = to;
      progress();
    }
    return total;
  },
};

/** Deletes the counts of hits that were not stored, at the age at which stored hits are dropped. */
const overflow = batchTask(
  'tracking_overflow',
  `delete from tracking_overflow where ctid = any (array(
     select ctid from tracking_overflow where hour < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, HIT_DAYS),
);

export const trackingUpkeep: Upkeep = {
  partitions: [{ name: 'tracking_hits', keptDays: HIT_DAYS }],
  tasks: [truncatedAddresses, overflow],
};
