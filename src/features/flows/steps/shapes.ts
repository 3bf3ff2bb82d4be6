/** What the shapes of several types of steps share. */
import { z } from 'zod';
import { describeAs } from '../../../platform/openapi/describe-as.ts';
import { filterShape, STEP_REF } from '../../segments/index.ts';

/** The longest wait, in seconds: 366 days. */
export const MAX_WAIT_SECONDS = 31_622_400;
/** The largest allowed id of a step. */
const MAX_STEP_ID = 1_000_000;
const MAX_FILTERS = 50;

export const stepId = z.int().min(1).max(MAX_STEP_ID);
export const stepRef = z
  .string()
  .regex(STEP_REF, 'must begin with a-z and have only a-z, 0-9 and _, up to 40');
export const seconds = z.int().min(1).max(MAX_WAIT_SECONDS);

/** Defines the shape of a step, without branches. */
export function stepShape<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  const id = stepId
    .optional()
    .meta({ description: 'The id of a step that the flow already has. Leave it out for a new step.' });
  const ref = stepRef.optional().meta({
    description:
      'A name for the step, usable in this request wherever the id of a step is. It is not stored: responses have the id.',
  });
  return z.strictObject({ type: z.literal(type), id, ref, ...fields });
}

/** Filters of a step. They are parsed elsewhere, because their position decides which names they may use. */
export function stepFilters(min: 0 | 1) {
  const limited = <T extends z.ZodType>(items: z.ZodArray<T>) => {
    const bounded = items.max(MAX_FILTERS);
    return min > 0 ? bounded.min(min) : bounded;
  };
  return describeAs(limited(z.array(z.unknown())), () => limited(z.array(filterShape)));
}

/** Fields that clients read, shared by several types. */
export const presentedFields = {
  body: z.unknown().meta({
    description: 'The content of an email or sms step; the JSON that a webhook step sends.',
  }),
  duration: z.int().optional().meta({ description: 'Seconds.' }),
  eventName: z.string(),
  /** The filters as the client wrote them. */
  filters: z.array(z.object({ name: z.string(), predicate: z.string(), value: z.unknown().optional() })),
  jsonObject: z.record(z.string(), z.unknown()),
  templateId: z.int().optional().meta({ description: 'The template of an email or sms step.' }),
};
