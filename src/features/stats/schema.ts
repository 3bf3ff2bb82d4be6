import { z } from 'zod';
import { isTimeZone } from '../../platform/input/time-zones.ts';
import type { StatName } from '../../delivery/ledger/effects/stat-changes.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam } from '../../platform/db/paging.ts';
import { figureNames, statChannels, statSources } from './figures.ts';

/** Whether a bound is a date, not a date-time. */
export const isDate = (bound: string) => bound.length === 10;

/** A point of a series has seven figures, so an answer has at most 8,000. */
export const MAX_POINTS = 1_100;

const date = z.iso.date();
const bound = (description: string) =>
  z
    .string()
    .max(64)
    .regex(/^2[0-9]{3}-[0-9]{2}-[0-9]{2}(T.+)?$/, 'must be a date or a date-time in the years 2000 to 2999')
    .refine(
      (text) => (isDate(text) ? date : filterTime).safeParse(text).success,
      'must be a date, such as 2026-03-01, or a date-time with an offset',
    )
    .meta({ description, examples: ['2026-03-01', '2026-03-01T00:00:00Z'] });

export const statsQuery = z.strictObject({
  from: bound('The first day, or a time. By default, 30 days end with the last one.').optional(),
  to: bound('The last day, which is included, or a time, which is not. Today by default.').optional(),
  interval: z.enum(['hour', 'day']).default('day').meta({ description: 'How long a point is.' }),
  timezone: z
    .string()
    .max(100)
    .refine(isTimeZone, 'must be the name of an IANA time zone, such as Europe/Berlin')
    .optional()
    .meta({
      examples: ['Europe/Berlin'],
      description:
        'The IANA time zone whose clocks decide when days and hours begin. By default that of the brand, if the ' +
        'figures are of one brand, else UTC.',
    }),
  source: z.enum(statSources).optional(),
  channel: z.enum(statChannels).optional(),
  brand_id: idParam.optional().meta({
    description:
      'Only this brand. By default, an API key gets its own brand, and a user all brands of the account.',
  }),
  group_by: z
    .enum(['none', 'source', 'channel', 'brand'])
    .default('none')
    .meta({ description: 'One series for each source, channel or brand.' }),
});
export type StatsQuery = z.output<typeof statsQuery>;

const count = z.int().min(0);
const figures = Object.fromEntries(figureNames.map((name) => [name, count])) as Record<
  StatName,
  typeof count
>;

const when = z.iso.datetime();

export const statsSchema = z
  .object({
    from: when.meta({ description: 'The beginning of the period.' }),
    to: when.meta({ description: 'Its end, which does not belong to it.' }),
    interval: z.enum(['hour', 'day']),
    timezone: z.string(),
    series: z
      .array(
        z
          .object({
            brand_id: z.int().nullable().meta({ description: 'Null unless grouped by brand.' }),
            source: z.enum(statSources).nullable().meta({ description: 'Null unless grouped by source.' }),
            channel: z.enum(statChannels).nullable().meta({ description: 'Null unless grouped by channel.' }),
            points: z.array(
              z
                .object({ at: when.meta({ description: 'When the point begins.' }), ...figures })
                .meta({ id: 'StatsPoint' }),
            ),
          })
          .meta({ id: 'StatsSeries' }),
      )
      .meta({ description: 'Each has a point for each interval, also if nothing happened.' }),
    totals: z.object(figures).meta({ id: 'StatsFigures' }),
  })
  .meta({ id: 'Stats' });
export type Stats = z.output<typeof statsSchema>;
