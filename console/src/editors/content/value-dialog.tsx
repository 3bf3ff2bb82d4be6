import { useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { isName, parseValue, valueSource } from './liquid-value.ts';
import { SmallForm } from './small-form.tsx';
import { ValueList } from './value-list.tsx';

interface ValueDialogProps {
  /** The present output; null if a new one is inserted. */
  source: string | null;
  names: readonly string[];
  onChoose: (source: string) => void;
  onClose: () => void;
  /** Moves the focus back into the text that the value is for. */
  onFocusBack: () => void;
}

/** Chooses a value of Liquid, with what is shown if it is empty. An output with other filters is edited as it is. */
export function ValueDialog(props: ValueDialogProps) {
  const { source } = props;
  const value = source === null ? { name: '', fallback: '' } : parseValue(source);
  return value === null ? (
    <SourceForm {...props} source={source ?? ''} />
  ) : (
    <ValueForm {...props} {...value} />
  );
}

const titleOf = (source: string | null) => (source === null ? 'Insert a value' : 'Change the value');

function ValueForm({
  source,
  names,
  onChoose,
  onClose,
  onFocusBack,
  name: oldName,
  fallback: oldFallback,
}: ValueDialogProps & { name: string; fallback: string }) {
  const [text, setText] = useState(oldName);
  const [picked, setPicked] = useState(oldName !== '');
  const [fallback, setFallback] = useState(oldFallback);
  const [fault, setFault] = useState<string | null>(null);
  const fallbackRef = useRef<HTMLInputElement>(null);
  const name = text.trim();
  const submit = () => {
    if (!isName(name)) return setFault('Choose a value, or use a name such as contact.first_name.');
    onChoose(valueSource({ name, fallback }));
    return onClose();
  };
  const pick = (next: string) => {
    setText(next);
    setPicked(true);
    setFault(null);
    fallbackRef.current?.focus();
  };
  return (
    <SmallForm
      title={titleOf(source)}
      submit={source === null ? 'Insert' : 'Change'}
      onSubmit={submit}
      onClose={onClose}
      onFocusBack={onFocusBack}
    >
      {picked ? (
        <p className="value-picked">
          <code>{name}</code>
          <Button kind="quiet" onClick={() => setPicked(false)}>
            Choose another
          </Button>
        </p>
      ) : (
        <ValueList text={text} names={names} onType={setText} onPick={pick} />
      )}
      {fault !== null && (
        <p className="field-error" role="alert">
          {fault}
        </p>
      )}
      <Field label="If it is empty" hint="Such as “there”, for contacts without a name.">
        <TextInput
          ref={fallbackRef}
          value={fallback}
          autoComplete="off"
          onChange={(event) => setFallback(event.target.value)}
        />
      </Field>
    </SmallForm>
  );
}

function SourceForm({ source, onChoose, onClose, onFocusBack }: ValueDialogProps & { source: string }) {
  const [text, setText] = useState(source);
  const [fault, setFault] = useState<string | null>(null);
  const submit = () => {
    if (!/^\{[{%][\s\S]*[}%]\}$/.test(text.trim())) return setFault('This is not Liquid.');
    onChoose(text.trim());
    return onClose();
  };
  return (
    <SmallForm
      title={titleOf(source)}
      submit="Change"
      onSubmit={submit}
      onClose={onClose}
      onFocusBack={onFocusBack}
    >
      <Field label="Liquid" error={fault}>
        <TextInput
          className="mono"
          value={text}
          autoFocus
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
    </SmallForm>
  );
}
