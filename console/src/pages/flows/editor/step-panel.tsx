import type { AudienceNames } from '../../../api/choices.ts';
import { Button } from '../../../ui/button.tsx';
import { JsonBlock } from '../../../ui/code.tsx';
import { Menu } from '../../../ui/menu.tsx';
import type { Flow } from '../flow-frame.tsx';
import { changeStep, removeStep } from './commands.ts';
import { ConditionForm, SplitForm, WaitForEventForm } from './forms/branch-forms.tsx';
import { EventForm, ExitForm, ListForm, UpdateContactForm, WebhookForm } from './forms/action-forms.tsx';
import { LetterForm, StepContent, type ContentFrom } from './forms/content-forms.tsx';
import type { StepFormProps } from './forms/form.ts';
import { WaitForm } from './forms/wait-form.tsx';
import { keyOf } from '../flow-layout.ts';
import type { Step } from './model.ts';
import { errorsOf, type FlowProblems } from './problems.ts';
import { StepRepairs } from './step-repairs.tsx';
import type { FlowEditor } from './use-flow-editor.ts';

export interface StepEditorProps {
  flow: Flow;
  editor: FlowEditor;
  step: Step;
  problems: FlowProblems;
  names: AudienceNames;
}

interface StepPanelProps extends StepEditorProps {
  onEditLetter: () => void;
  onNext: () => void;
  onMove: () => void;
  onCopy: (all: boolean) => void;
}

/** Returns which part of each content is sent, which only the templates of the flow say. */
export const contentFromOf = ({ templates }: Flow): ContentFrom =>
  new Map(templates.map(({ id, content_from: from }) => [id, from]));

/** Returns what the form of a step needs. */
export function formOf({ editor, step, problems, names }: StepEditorProps): StepFormProps {
  const key = keyOf(step);
  return {
    step,
    errors: errorsOf(problems, key),
    content: editor.content,
    names,
    change(patch) {
      const about = `${key} ${Object.keys(patch).join()}`;
      editor.run((steps) => changeStep(steps, key, patch), about);
    },
  };
}

/** Adds the next step, as the `+` marks do, so that a flow can be written from top to bottom without these. */
export const NextStep = ({ onNext }: { onNext: () => void }) => (
  <div className="actions">
    <Button onClick={onNext}>Next step</Button>
  </div>
);

/** The form of one step, and the actions on it. */
export function StepPanel(props: StepPanelProps) {
  const { editor, step, onNext, onMove, onCopy } = props;
  const key = keyOf(step);
  return (
    <>
      <div className="actions">
        <Button onClick={onMove}>Move</Button>
        <Menu
          label="Copy"
          items={[
            { label: 'Copy this step', onSelect: () => onCopy(false) },
            { label: 'Copy this step and all that follow', onSelect: () => onCopy(true) },
          ]}
        />
        <Button kind="danger" onClick={() => editor.run((steps) => removeStep(steps, key))}>
          Remove
        </Button>
      </div>
      <StepRepairs {...props} />
      <StepForm {...props} />
      {step.type !== 'exit' && <NextStep onNext={onNext} />}
    </>
  );
}

function StepForm(props: StepPanelProps) {
  const { step } = props;
  const form = formOf(props);
  switch (step.type) {
    case 'email':
      return <LetterForm {...form} onOpen={props.onEditLetter} />;
    case 'sms':
      return <StepContent {...form} contentFrom={contentFromOf(props.flow)} />;
    case 'wait':
      return <WaitForm {...form} />;
    case 'condition':
      return <ConditionForm {...form} />;
    case 'wait_for_event':
      return <WaitForEventForm {...form} />;
    case 'event':
      return <EventForm {...form} />;
    case 'update_contact':
      return <UpdateContactForm {...form} />;
    case 'add_to_list':
    case 'remove_from_list':
      return <ListForm {...form} />;
    case 'webhook':
      return <WebhookForm {...form} />;
    case 'split':
      return <SplitForm {...form} />;
    case 'exit':
      return <ExitForm {...form} />;
    default:
      return (
        <JsonBlock value={step} label="This console does not know this type of step. It is kept as it is." />
      );
  }
}
