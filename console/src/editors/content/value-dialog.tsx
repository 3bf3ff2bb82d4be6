import { useId, useState, type SubmitEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { isName, parseValue, valueSource } from './liquid-value.ts';

/**
 * Chooses a value of Liquid, with what is shown if it is empty. An output with other filters is edited as it is.
 * @param source the present output; null if a new one is inserted
 */
export function ValueDialog({
  source,
  names,
  onChoose,
  onClose,
}: {
  source: string | null;
  names: readonly string[];
  onChoose: (source: string) => void;
  onClose: () => void;
}) {
  const known = source === null ? { name: '', fallback: '' } : parseValue(source);
  const [name, setName] = useState(known?.name ?? '');
  const [fallback, setFallback] = useState(known?.fallback ?? '');
  const [text, setText] = useState(source ?? '');
  const [fault, setFault] = useState<string | null>(null);
  const listId = useId();
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    // The form stands in a portal, but its events reach the forms around the editor.
    event.stopPropagation();
    const isGood = known ? isName(name.trim()) : /^\{[{%][\s\S]*[}%]\}$/.test(text.trim());
    if (!isGood) return setFault(known ? 'Use a name such as contact.first_name.' : 'This is not Liquid.');
    onChoose(known ? valueSource({ name: name.trim(), fallback }) : text.trim());
    return onClose();
  };
  return (
    <Dialog open onClose={onClose} title={source === null ? 'Insert a value' : 'Change the value'}>
      <form onSubmit={submit}>
        {known ? (
          <>
            <Field label="Value" hint="A field of the contact, the brand or the event." error={fault}>
              <TextInput
                value={name}
                list={listId}
                autoComplete="off"
                autoFocus
                onChange={(event) => setName(event.target.value)}
              />
            </Field>
            <datalist id={listId}>
              {names.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
            <Field label="If it is empty" hint="Such as “there”, for contacts without a name.">
              <TextInput value={fallback} onChange={(event) => setFallback(event.target.value)} />
            </Field>
          </>
        ) : (
          <Field label="Liquid" error={fault}>
            <TextInput
              className="mono"
              value={text}
              autoFocus
              onChange={(event) => setText(event.target.value)}
            />
          </Field>
        )}
        <div className="actions">
          <Button type="submit" kind="primary">
            {source === null ? 'Insert' : 'Change'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
