import { z } from 'zod';
import { idParam, MAX_ID, pageQuery } from '../../platform/db/paging.ts';
import { verdicts } from './checks/verdict.ts';

/** Maximum number of ids in one request. */
export const MAX_IDS = 10_000;
/** Enough room for {@link MAX_IDS} of the longest ids. */
export const MAX_AUDIENCE_BYTES = 256 * 1024;
/** Maximum number of ids of its audience that an operation shows. */
export const SHOWN_IDS = 100;

export const audienceKinds = ['contact_channel_ids', 'contact_ids', 'list_id', 'segment_id'] as const;
export type AudienceKind = (typeof audienceKinds)[number];

export const operationStatuses = ['pending', 'running', 'completed', 'canceled', 'failed'] as const;
export type OperationStatus = (typeof operationStatuses)[number];

const isId = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_ID;

/** An array of ids. One pass reads it and ends at the first invalid id: schemas take long for many items. */
function idArray(description: string) {
  return z
    .unknown()
    .transform((value, context): number[] => {
      const refuse = (message: string, path: number[] = []) => {
        context.addIssue({ code: 'custom', message, path });
        return z.NEVER;
      };
      if (!Array.isArray(value)) return refuse('must be an array');
      if (value.length > MAX_IDS) return refuse(`must have at most ${MAX_IDS} items`);
      const wrong = value.findIndex((item) => !isId(item));
      return wrong < 0 ? (value as number[]) : refuse(`must be an integer from 1 to ${MAX_ID}`, [wrong]);
    })
    .meta({
      type: 'array',
      items: { type: 'integer', minimum: 1, maximum: MAX_ID },
      maxItems: MAX_IDS,
      description,
    });
}

const id = z.int().min(1).max(MAX_ID);

export const audienceBody = z
  .strictObject({
    contact_channel_ids: idArray('Email channels of contacts.').optional(),
    contact_ids: idArray('Contacts. Those without an email address are not candidates.').optional(),
    list_id: id.optional().meta({ description: 'The contacts of this list.' }),
    segment_id: id.optional().meta({ description: 'The contacts of this segment.' }),
  })
  .superRefine((body, context) => {
    if (audienceKinds.filter((kind) => body[kind] !== undefined).length === 1) return;
    context.addIssue({ code: 'custom', message: `must have exactly one of ${audienceKinds.join(', ')}` });
  })
  .meta({ description: `Exactly one of ${audienceKinds.map((kind) => `\`${kind}\``).join(', ')}.` });
export type AudienceBody = z.output<typeof audienceBody>;

export const fundingStates = ['funded', 'insufficient_funds', 'spend_cap_reached'] as const;
export type FundingState = (typeof fundingStates)[number];

const count = z.int().nonnegative();
const cents = (description: string) =>
  z.number().meta({ description: `${description} Up to three decimals.` });
const when = z.iso.datetime();

export const quoteSchema = z
  .object({
    candidate_count: count.meta({
      description: 'Number of contacts in the audience that have an email address.',
    }),
    reusable_count: count.meta({
      description:
        'Number of candidates with a conclusive result from the last 30 days. It is reused and free.',
    }),
    unit_price_cents: cents('The price of one conclusive result.'),
    maximum_charge_cents: cents('What the operation would reserve. It never costs more than this.'),
    wallet_balance_cents: z.int().meta({ description: 'Rounded down.' }),
    funding_state: z.enum(fundingStates).meta({ description: 'Whether the operation could be started now.' }),
  })
  .meta({ id: 'ValidationQuote' });
export type Quote = z.infer<typeof quoteSchema>;

export const operationSchema = z
  .object({
    id: z.int(),
    status: z.enum(operationStatuses).meta({
      description:
        '`pending`: waits for another operation of the account. `failed`: could not continue; starting it again with its ' +
        '`Idempotency-Key` checks the rest.',
    }),
    audience: z.object({
      kind: z.enum(audienceKinds),
      ids: z.array(z.int()).meta({ description: `The first ${SHOWN_IDS}, ascending.` }),
      ids_count: count,
    }),
    candidate_count: count.meta({ description: 'The sum of `counts` and `remaining_count`.' }),
    remaining_count: count.meta({ description: 'Number of addresses without a result.' }),
    counts: z.object({ deliverable: count, undeliverable: count, risky: count, unknown: count }),
    unit_price_cents: cents('The price of one conclusive result when the operation was started.'),
    maximum_charge_cents: cents('The amount reserved at the start.'),
    charged_cents: cents('The amount charged. 0 until the operation ends.'),
    funding_state: z.enum(fundingStates),
    created_at: when,
    finished_at: when.nullable(),
  })
  .meta({ id: 'ValidationOperation' });
export type Operation = z.infer<typeof operationSchema>;

export const itemSchema = z
  .object({
    id: z.int(),
    contact_id: z.int(),
    contact_channel_id: z.int(),
    email: z.string().nullable().meta({ description: 'Null once the contact is deleted.' }),
    verdict: z.enum(verdicts).nullable().meta({ description: 'Null until the address has been checked.' }),
    reason: z.string().nullable(),
    checks: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'One finding per check; null if the check was not made.' }),
    suggestion: z.string().nullable().meta({ description: 'The address that was probably meant.' }),
    charged: z.boolean(),
    checked_at: when.nullable().meta({ description: 'For a reused result, when it was found.' }),
  })
  .meta({ id: 'ValidationItem' });
export type Item = z.infer<typeof itemSchema>;

export const operationParams = z.strictObject({ id: idParam });

export const listOperationsQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(operationStatuses).optional(),
});

export const listItemsQuery = z.strictObject({
  ...pageQuery,
  verdict: z.enum(verdicts).optional(),
  format: z.enum(['json', 'csv']).optional().meta({
    description:
      'Has the same effect as the `Accept` header `application/json` or `text/csv`. A CSV file has all items, oldest first.',
  }),
});
