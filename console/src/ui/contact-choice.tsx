import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState, type ReactNode } from 'react';
import { api, call } from '../api/client.ts';
import { Field, TextInput } from './field.tsx';

const MIN_LETTERS = 2;
const HINT = 'Type the address or the id of a contact; without one, the samples of the template are shown.';

/**
 * Chooses a contact by its address, number or id. `contactId` is null while the text names none.
 * @param empty the hint while nothing is typed
 */
export function useContactChoice(
  label: string,
  empty = HINT,
): { contactId: number | null; field: ReactNode; clear: () => void } {
  const [text, setText] = useState('');
  const asked = useDeferredValue(text.trim());
  const { data } = useQuery({
    queryKey: ['search', asked],
    enabled: asked.length >= MIN_LETTERS || /^\d+$/.test(asked),
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/search', { params: { query: { q: asked } }, signal })),
  });
  const found = asked === '' ? undefined : data?.find(({ type }) => type === 'contact');
  const hint = () => {
    if (asked === '' || !data) return empty;
    return found ? `${found.title ?? 'Contact'} (contact ${found.id})` : 'No contact of the brand has it.';
  };
  return {
    contactId: found?.id ?? null,
    clear: () => setText(''),
    field: (
      <Field label={label} hint={hint()}>
        <TextInput value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
      </Field>
    ),
  };
}
