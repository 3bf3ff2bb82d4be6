import { useState } from 'react';
import { addressLines } from '../../ui/address-lines.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { kindText, type RecipientKind } from './recipient-kinds.ts';

/** Addresses as typed, by where they stand in the letter. */
export type TypedRecipients = Record<RecipientKind, string>;

const OPTIONAL = [
  { kind: 'cc', label: 'Add a copy (Cc)' },
  { kind: 'bcc', label: 'Add a blind copy (Bcc)' },
] as const;

/** A field with one address is a text, so that a message to one person is none with copies. */
export function recipientsIn({ to, cc, bcc }: TypedRecipients) {
  const [first = to, ...others] = addressLines(to);
  const copies = addressLines(cc);
  const blind = addressLines(bcc);
  return {
    to: others.length === 0 ? first : [first, ...others],
    ...(copies.length > 0 && { cc: copies }),
    ...(blind.length > 0 && { bcc: blind }),
  };
}

/** The API names addresses by their places, such as `to.0`. */
const inWords = (text: string) =>
  text.replace(/\b(to|cc|bcc)(?:\.\d+)?(?= has\b)/, (_, kind: RecipientKind) => `“${kindText[kind]}”`);

/** What the API says of the addresses of a field. */
function faultsIn(
  errors: Readonly<Record<string, readonly string[]>>,
  kind: RecipientKind,
  typed: string,
): string[] {
  const addresses = addressLines(typed);
  return Object.entries(errors).flatMap(([path, texts]) => {
    const [field, index] = path.split('.');
    if (field !== kind) return [];
    return texts.map((text) =>
      index === undefined ? inWords(text) : `${addresses[Number(index)] ?? ''} ${inWords(text)}.`,
    );
  });
}

/** To, Cc and Bcc of an email. The last two are shown when they are asked for. */
export function RecipientFields({
  typed,
  errors,
  onChange,
}: {
  typed: TypedRecipients;
  errors: Readonly<Record<string, readonly string[]>>;
  onChange: (changes: Partial<TypedRecipients>) => void;
}) {
  const [asked, setAsked] = useState<readonly RecipientKind[]>([]);
  const isShown = (kind: RecipientKind) => kind === 'to' || asked.includes(kind) || typed[kind] !== '';
  const hidden = OPTIONAL.filter(({ kind }) => !isShown(kind));
  const field = (kind: RecipientKind, hint?: string) =>
    isShown(kind) && (
      <Field label={kindText[kind]} error={faultsIn(errors, kind, typed[kind])} hint={hint}>
        <TextInput
          value={typed[kind]}
          required={kind === 'to'}
          autoFocus={asked.at(-1) === kind}
          onChange={({ target }) => onChange({ [kind]: target.value })}
        />
      </Field>
    );
  return (
    <>
      {field('to', 'Commas separate several addresses. Each recipient sees those in To and Copy.')}
      {field('cc')}
      {field('bcc', 'The other recipients do not see these addresses.')}
      {hidden.length > 0 && (
        <div className="actions">
          {hidden.map(({ kind, label }) => (
            <Button key={kind} kind="quiet" onClick={() => setAsked([...asked, kind])}>
              {label}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}
