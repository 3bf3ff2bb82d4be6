import { z } from 'zod';

/**
 * A pipe whose first part is only described. It is a class so that copies, such as those of `meta`, are of the same
 * kind.
 */
const Described = z.core.$constructor<z.ZodPipe>('Described', (inst, def) => {
  z.ZodPipe.init(inst, def);
  inst._zod.parse = (payload, context) => def.out._zod.run(payload, context);
});

/**
 * Creates a schema that parses by `parsed` and is described as `shown`. Use it for values that code parses, such as the
 * steps of a flow, or that clients understand better as several components.
 * @param shown what clients should send
 */
export function describeAs<Parsed extends z.ZodType>(
  parsed: Parsed,
  shown: () => z.ZodType,
): z.ZodPipe<z.ZodType, Parsed> {
  const made = new Described({ type: 'pipe', in: z.lazy(shown), out: parsed });
  return made as unknown as z.ZodPipe<z.ZodType, Parsed>;
}
