import { useQuery } from '@tanstack/react-query';
import { useId, useState, type ReactNode } from 'react';
import { api, call, callPage, type Schemas } from '../api/client.ts';
import { fullNameOf, mainAddressOf } from './contact-text.ts';
import { Field, TextInput } from './field.tsx';
import { useSettled } from './settled.ts';

interface Found {
  id: number;
  /** The name or address of the contact. */
  text: string;
}

const MIN_LETTERS = 2;
const MAX_SUGGESTIONS = 10;
const HINT =
  'Type a name or an address, or its beginning; without a contact, the samples of the template are shown.';

/** What to type for exactly this contact, and what to call it. */
function suggestionOf(contact: Schemas['Contact']) {
  const name = fullNameOf(contact);
  const value = mainAddressOf(contact) ?? String(contact.id);
  return { id: contact.id, value, name, text: name === '' ? value : `${name}, ${value}` };
}

const SHOWN = 3;

function severalText(texts: readonly string[]): string {
  const shown = texts.slice(0, SHOWN).join('; ');
  return `Several contacts: ${shown}${texts.length > SHOWN ? '; and others' : ''}. Type more, or choose one.`;
}

/** The contact that has exactly this address, number or id. */
function useExact(asked: string, isAsked: boolean): Found | null | undefined {
  const { data } = useQuery({
    queryKey: ['search', asked],
    enabled: isAsked,
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/search', { params: { query: { q: asked } }, signal })),
  });
  if (!isAsked || !data) return undefined;
  const contact = data.find(({ type }) => type === 'contact');
  return contact ? { id: contact.id, text: contact.title ?? 'Contact' } : null;
}

/**
 * Chooses a contact by the beginning of a name or email address, with suggestions, or by a phone number or an id.
 * `contactId` is null while the text names none, or several.
 * @param empty the hint while nothing is typed
 */
export function useContactChoice(
  label: string,
  empty = HINT,
): { contactId: number | null; field: ReactNode; clear: () => void } {
  const listId = useId();
  const [text, setText] = useState('');
  const typed = text.trim();
  const asked = useSettled(typed);
  const isNumber = /^\d+$/.test(asked);
  const exact = useExact(asked, asked.length >= MIN_LETTERS || isNumber);
  const { data } = useQuery({
    queryKey: ['contacts', 'beginning', asked],
    enabled: asked.length >= MIN_LETTERS,
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/contacts', {
          params: { query: { search: asked, limit: MAX_SUGGESTIONS } },
          signal,
        }),
      ),
  });
  const suggestions = (data?.rows ?? []).map(suggestionOf);
  const only = suggestions.length === 1 ? suggestions[0] : undefined;
  // The text being typed may mean another one.
  const found = typed === asked ? (exact ?? only) : undefined;
  const hint = () => {
    if (asked === '' || exact === undefined) return empty;
    if (found) return `${found.text} (contact ${found.id})`;
    if (typed !== asked || (!data && asked.length >= MIN_LETTERS)) return 'Searching…';
    return suggestions.length === 0
      ? 'No contact matches.'
      : severalText(suggestions.map(({ text: each }) => each));
  };
  return {
    contactId: found?.id ?? null,
    clear: () => setText(''),
    field: (
      <>
        <Field label={label} hint={hint()}>
          <TextInput
            value={text}
            list={listId}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
        <datalist id={listId}>
          {suggestions.map(({ id, value, name }) => (
            <option key={id} value={value} label={name === '' ? undefined : name} />
          ))}
        </datalist>
      </>
    ),
  };
}
