/** The contents of steps that send. */
import { ContentEditor } from '../../../../editors/content/content-editor.tsx';
import type { Content } from '../../../../editors/content/content.ts';
import { Button } from '../../../../ui/button.tsx';
import { Facts } from '../../../../ui/facts.tsx';
import { allSteps, type FlowContent, type Step } from '../model.ts';
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

/** The names in Liquid that a flow adds, as far as its filters say which data its event has. */
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
      channel={step.type === 'sms' ? 'sms' : 'email'}
      footer="marketing"
      value={{ ...contentOf(step), ...(from === undefined ? {} : { content_from: from }) }}
      names={namesOf(content)}
      errors={errors}
      onChange={(next) => change(patchOf(step, next))}
    />
  );
}

/** A letter needs the whole page, so the panel only leads there. */
export function LetterForm({ step, errors, onOpen }: StepFormProps & { onOpen: () => void }) {
  const messages = Object.entries(errors).flatMap(([field, texts]) =>
    texts.map((text) => `${field}: ${text}`),
  );
  return (
    <>
      <Facts
        items={[
          ['Subject', step.subject || 'none yet'],
          ['From', step.from_email ?? 'the sender of the brand'],
        ]}
      />
      {messages.map((message) => (
        <p key={message} className="field-error">
          {message}
        </p>
      ))}
      <Button kind="primary" onClick={onOpen}>
        Edit the letter
      </Button>
    </>
  );
}
