import { useEffect, useRef, useState, type RefObject } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { useSettled } from '../../ui/settled.ts';
import { messagesAt, type Problem, unsavedOf, useChecked } from './checked.ts';
import { type Content, type ContentEditorProps, type Design, sentPart, withPart } from './content.ts';
import { DesignEditor } from './design-editor.tsx';
import { LetterPreview } from './letter-preview.tsx';
import { LiquidInput } from './liquid-input.tsx';
import { namesOf } from './liquid-value.ts';
import { designOf } from './sections.ts';
import { SourceDialog } from './source-dialog.tsx';
import { StarterGallery } from './starter-gallery.tsx';

const NO_ERRORS = {};
const NO_PROBLEMS: readonly Problem[] = [];

/** Whether the user is asked how the letter begins, has chosen a design or source, or edits what there was. */
type Start = 'asked' | 'design' | 'source' | 'given';

const isBlank = ({ body, design, put_aside: aside }: Content) =>
  !design && !aside?.design && (body ?? '').trim() === '';

/** Changes the content as it is when the change is made, also later than the event, such as by an undo. */
function useChange(value: Content, onChange: (next: Content) => void) {
  const latest = useRef({ value, onChange });
  useEffect(() => {
    latest.current = { value, onChange };
  });
  return (change: (content: Content) => Content) => {
    const next = change(latest.current.value);
    latest.current.value = next;
    latest.current.onChange(next);
  };
}

type Change = (change: (content: Content) => Content) => void;

/** Edits an email: its subject, its sections or source, and what a contact sees of it. */
export function LetterEditor(props: ContentEditorProps) {
  const { value, footer, names, isSenderFixed = false, sender = null, errors = NO_ERRORS } = props;
  const change = useChange(value, props.onChange);
  const settled = useSettled(unsavedOf(props));
  const checked = useChecked(settled, errors);
  const known = namesOf({ footer, names, variables: value.variables });
  const [start, setStart] = useState<Start>(isBlank(value) ? 'asked' : 'given');
  const { design } = value;
  const subject = useRef<HTMLInputElement>(null);
  const isAsked = start === 'asked' && isBlank(value);
  // Before the letter is begun, everything is missing.
  const problems = isAsked ? NO_PROBLEMS : checked;
  return (
    <div className="content-editor">
      <div className="letter">
        <div className="stack">
          <Envelope {...{ value, problems, change, subject }} names={known} />
          {!isSenderFixed && <Sender {...{ value, sender, problems, change }} />}
          {isAsked ? (
            <StarterGallery
              onChoose={(sections) => {
                setStart('design');
                // The button that had the focus is gone.
                subject.current?.focus();
                change((old) => ({ ...old, body: null, design: { sections, theme: {} } }));
              }}
              onSource={() => setStart('source')}
            />
          ) : design && sentPart(value) === 'design' ? (
            <DesignPart
              {...{ value, design, problems, change }}
              names={known}
              opensText={start === 'design'}
              onSource={() => setStart('source')}
            />
          ) : (
            <SourceEditor
              {...{ value, problems, change }}
              autoFocus={start === 'source'}
              onAsk={() => setStart('asked')}
            />
          )}
        </div>
        <LetterPreview value={value} unsaved={settled} problems={problems} />
      </div>
    </div>
  );
}

interface PartProps {
  value: Content;
  problems: readonly Problem[];
  change: Change;
}

/** What a mailbox shows beside the letter. */
function Envelope({
  value,
  names,
  problems,
  change,
  subject,
}: PartProps & { names: readonly string[]; subject: RefObject<HTMLInputElement | null> }) {
  return (
    <>
      <LiquidInput
        label="Subject"
        focusRef={subject}
        names={names}
        value={value.subject ?? ''}
        error={messagesAt(problems, 'subject')}
        onChange={(next) => change((old) => ({ ...old, subject: next }))}
      />
      <LiquidInput
        label="Preheader"
        names={names}
        hint="Mail apps show it beside the subject."
        value={value.preheader ?? ''}
        error={messagesAt(problems, 'preheader')}
        onChange={(preheader) => change((old) => ({ ...old, preheader }))}
      />
    </>
  );
}

const SENDER = [
  ['from_name', 'From'],
  ['from_email', 'Address'],
  ['reply_to', 'Reply to'],
] as const;

/** The sender of the letter. */
function Sender({ value, sender, problems, change }: PartProps & { sender: string | null }) {
  return (
    <details className="section-style" open={SENDER.some(([name]) => messagesAt(problems, name).length > 0)}>
      <summary>Sender{sender !== null && <span className="summary-value"> {sender}</span>}</summary>
      <p className="hint">Empty fields use the default sender of the brand.</p>
      <div className="style-fields">
        {SENDER.map(([name, label]) => (
          <Field key={name} label={label} error={messagesAt(problems, name)}>
            <TextInput
              value={value[name] ?? ''}
              autoComplete="off"
              onChange={(event) => {
                const text = event.target.value;
                change((old) => ({ ...old, [name]: text === '' ? null : text }));
              }}
            />
          </Field>
        ))}
      </div>
    </details>
  );
}

/** The sections, and the question before they become source. */
function DesignPart({
  value,
  design,
  names,
  problems,
  change,
  opensText,
  onSource,
}: PartProps & { design: Design; names: readonly string[]; opensText: boolean; onSource: () => void }) {
  const [asks, setAsks] = useState(false);
  const aside = value.put_aside?.body ?? '';
  return (
    <>
      <DesignEditor
        {...{ design, names, problems, opensText }}
        hasSource={aside !== ''}
        onChange={(next) => change((old) => ({ ...old, design: next(old.design ?? design) }))}
        onSource={() => setAsks(true)}
      />
      {asks && (
        <SourceDialog
          {...{ design, aside }}
          onClose={() => setAsks(false)}
          onChoose={(body) => {
            onSource();
            change((old) => withPart(old, { body }));
          }}
        />
      )}
    </>
  );
}

/** A body that is written as source. */
function SourceEditor({
  value,
  problems,
  change,
  autoFocus,
  onAsk,
}: PartProps & { autoFocus: boolean; onAsk: () => void }) {
  const aside = value.put_aside?.design;
  const take = () =>
    change((old) =>
      withPart(old, {
        design: old.put_aside?.design ?? { sections: designOf(old.body ?? ''), theme: {} },
      }),
    );
  return (
    <>
      <div className="actions">
        {isBlank(value) ? (
          <Button onClick={onAsk}>Choose a design</Button>
        ) : (
          <Button onClick={take}>{aside ? 'Back to the design' : 'Start a design instead'}</Button>
        )}
        {aside && <span className="hint">The design stays in this draft until you publish.</span>}
      </div>
      <Field
        label="Body"
        hint="HTML, MJML or plain text. May contain Liquid."
        error={messagesAt(problems, 'body')}
      >
        <TextArea
          className="mono"
          autoFocus={autoFocus}
          rows={18}
          spellCheck={false}
          value={value.body ?? ''}
          onChange={(event) => {
            const body = event.target.value;
            change((old) => ({ ...old, body }));
          }}
        />
      </Field>
    </>
  );
}
