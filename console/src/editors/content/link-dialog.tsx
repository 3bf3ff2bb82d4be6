import { useId, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { isAllowedHref } from './rich-link.ts';
import { SmallForm } from './small-form.tsx';

/** Where a link leads. @param href '' if the text has no link yet */
export function LinkDialog({
  href,
  names,
  onChoose,
  onClose,
  onFocusBack,
}: {
  href: string;
  names: readonly string[];
  /** '' removes the link. */
  onChoose: (href: string) => void;
  onClose: () => void;
  onFocusBack: () => void;
}) {
  const [text, setText] = useState(href);
  const [fault, setFault] = useState<string | null>(null);
  const listId = useId();
  const finish = (next: string) => {
    onChoose(next);
    onClose();
  };
  const submit = () => {
    const bare = text.trim();
    const next = /^[\w-]+(?:\.[\w-]+)+(?:[/?#]|$)/.test(bare) ? `https://${bare}` : bare;
    if (next === '' || isAllowedHref(next)) finish(next);
    else setFault('Use a web address, mailto:, tel:, sms: or a value such as {{ order.url }}.');
  };
  const urls = names.filter((name) => /url$/.test(name));
  return (
    <SmallForm
      title="Link"
      submit="Set the link"
      onSubmit={submit}
      onClose={onClose}
      onFocusBack={onFocusBack}
      actions={href !== '' && <Button onClick={() => finish('')}>Remove the link</Button>}
    >
      <Field label="Address" hint="A web address, mailto:, tel: or sms:. May be a value." error={fault}>
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
    </SmallForm>
  );
}
