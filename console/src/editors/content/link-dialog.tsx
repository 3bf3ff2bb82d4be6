import { useId, useState, type SubmitEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { isAllowedHref } from './rich-link.ts';

/** Where a link leads. @param href '' if the text has no link yet */
export function LinkDialog({
  href,
  names,
  onChoose,
  onClose,
}: {
  href: string;
  names: readonly string[];
  /** '' removes the link. */
  onChoose: (href: string) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState(href);
  const [fault, setFault] = useState<string | null>(null);
  const listId = useId();
  const finish = (next: string) => {
    onChoose(next);
    onClose();
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    event.stopPropagation();
    const bare = text.trim();
    const next = /^[\w-]+(?:\.[\w-]+)+(?:[/?#]|$)/.test(bare) ? `https://${bare}` : bare;
    if (next === '' || isAllowedHref(next)) finish(next);
    else setFault('Use a web address, mailto:, tel: or a value such as {{ order.url }}.');
  };
  const urls = names.filter((name) => /url$/.test(name));
  return (
    <Dialog open onClose={onClose} title="Link">
      <form onSubmit={submit}>
        <Field label="Address" hint="A web address, mailto: or tel:. May be a value." error={fault}>
          <TextInput
            value={text}
            list={listId}
            inputMode="url"
            autoFocus
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
        <datalist id={listId}>
          {urls.map((name) => (
            <option key={name} value={`{{ ${name} }}`} />
          ))}
        </datalist>
        <div className="actions">
          <Button type="submit" kind="primary">
            Set the link
          </Button>
          {href !== '' && <Button onClick={() => finish('')}>Remove the link</Button>}
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
