import { hashKey } from '@tanstack/react-query';

/** Whether two values are equal as JSON. The order of names in objects does not count; what is missing is not null. */
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (one !== undefined && other !== undefined && hashKey([one]) === hashKey([other]));
