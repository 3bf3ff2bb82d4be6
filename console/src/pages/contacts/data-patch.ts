/** Changes of the data of a contact, by key, as the API takes them: null removes a key. */
import { hashKey } from '@tanstack/react-query';
import type { Schemas } from '../../api/client.ts';

type Data = Schemas['Contact']['data'];

/** Returns what the user has changed. Keys that they left alone may have changed elsewhere, and are not in it. */
export function patchOfData(before: Data, after: Data): Data {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const isChanged = ([key, value]: [string, unknown]) =>
    !Object.hasOwn(before, key) || hashKey([before[key]]) !== hashKey([value]);
  return Object.fromEntries([
    ...removed.map((key) => [key, null] as const),
    ...Object.entries(after).filter(isChanged),
  ]);
}

/** Returns data with the changes of a patch. */
export const patched = (data: Data, patch: Data): Data =>
  Object.fromEntries(Object.entries({ ...data, ...patch }).filter(([, value]) => value !== null));
