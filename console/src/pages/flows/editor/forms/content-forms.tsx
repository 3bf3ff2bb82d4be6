/** The contents of steps that send. */
import { useState } from 'react';
import { ContentEditor } from '../../../../editors/content/content-editor.tsx';
import type { Content } from '../../../../editors/content/content.ts';
import { Button } from '../../../../ui/button.tsx';
import { DetailList } from '../../../../ui/details.tsx';
import { Field, TextInput } from '../../../../ui/field.tsx';
import { LoadTemplateDialog } from '../../../campaigns/editor/load-template-dialog.tsx';
import { channelOf, letterPatch } from '../letter-of-step.ts';
import { allSteps, type FlowContent, type Step } from '../model.ts';
import { isOfStep, type FieldErrors } from '../problems.ts';
import type { StepFormProps } from './form.ts';

/** Which of body and design is sent, by the ids of templates: a step does not say it itself. */
export type ContentFrom = ReadonlyMap<number, string>;

/** What a step of a flow is, apart from its content. */
const OWN = new Set(['type', 'id', 'ref', 'template_id']);

const contentOf = (step: Step): Content =>
  Object.fromEntries(Object.entries(step).filter(([field]) => !OWN.has(field)));

/** The fields of the content in which it differs; one that it no longer has is undefined. */
function patchOf(step: Step, { content_from: _, ...next }: Content): Partial<Step> {
  const gone = Object.keys(contentOf(step)).filter((field) => !(field in next));
  return { ...Object.fromEntries(gone.map((field) => [field, undefined])), ...next };
}

/** The names in Liquid that a flow adds. Those of its event are the ones that its filters name. */
function namesOf({ trigger, steps }: FlowContent): string[] {
  const filters = [trigger.data.filters, ...allSteps(steps).map(({ step }) => step.filters)];
  const paths = filters.flatMap((each) => (each ?? []).map(({ name }) => /^trigger\.(.+)$/.exec(name)?.[1]));
  const data = [...new Set(paths)].flatMap((path) => (path === undefined ? [] : `event.data.${path}`));
  return trigger.event === null ? [] : ['event.event', ...data];
}

export function StepContent({
  step,
  change,
  errors,
  content,
  contentFrom,
}: StepFormProps & { contentFrom: ContentFrom }) {
  const from = step.template_id === undefined ? undefined : contentFrom.get(step.template_id);
  return (
    <ContentEditor
      channel={channelOf(step)}
      footer="marketing"
      value={{ ...contentOf(step), ...(from === undefined ? {} : { content_from: from }) }}
      names={namesOf(content)}
      errors={errors}
      onChange={(next) => change(patchOf(step, next))}
    />
  );
}

/** Messages of what the panel itself has no field for. */
const messagesOf = (errors: FieldErrors): string[] =>
  Object.entries(errors).flatMap(([field, texts]) =>
    field === 'subject' || isOfStep(field) ? [] : texts.map((text) => `${field}: ${text}`),
  );

/** A letter needs the whole page, so the panel has only its subject, and leads there. */
export function LetterForm({ step, change, errors, onOpen }: StepFormProps & { onOpen: () => void }) {
  const [isLoading, setLoading] = useState(false);
  return (
    <>
      <Field label="Subject" error={errors.subject}>
        <TextInput value={step.subject ?? ''} onChange={({ target }) => change({ subject: target.value })} />
      </Field>
      <DetailList items={[['From', step.from_email ?? 'the sender of the brand']]} />
      {messagesOf(errors).map((message) => (
        <p key={message} className="field-error">
          {message}
        </p>
      ))}
      <div className="actions">
        <Button kind="primary" onClick={onOpen}>
          Edit the letter
        </Button>
        <Button onClick={() => setLoading(true)}>Load a template</Button>
      </div>
      {isLoading && (
        <LoadTemplateDialog
          channel={channelOf(step)}
          onClose={() => setLoading(false)}
          onLoaded={(letter) => {
            change(letterPatch(step, letter));
            setLoading(false);
          }}
        />
      )}
    </>
  );
}
