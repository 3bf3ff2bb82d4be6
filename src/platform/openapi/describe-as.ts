import { z } from 'zod';

/** A pipe whose first part is only described. A class of its own, so that copies such as those of `meta` are alike. */
const Described = z.core.$constructor<z.ZodPipe>('Described', (inst, def) => {
  z.ZodPipe.init(inst, def);
  inst._zod.parse = (payload, context) => def.out._zod.run(payload, context);
});

/**
 * Makes a schema of a request that is parsed by `parsed` and described as `shown`. It serves what is parsed by code, such
 * as the steps of a flow, and what clients understand better in several components.
 * @param shown what clients should send
 */
export function describeAs<Parsed extends z.ZodType>(
  parsed: Parsed,
  shown: () => z.ZodType,
): z.ZodPipe<z.ZodType, Parsed> {
  const made = new Described({ type: 'pipe', in: z.lazy(shown), out: parsed });
  return made as unknown as z.ZodPipe<z.ZodType, Parsed>;
}
