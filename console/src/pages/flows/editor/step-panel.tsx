import { useEffect, useRef, type ReactNode } from 'react';
import { Button } from '../../../ui/button.tsx';
import { JsonBlock } from '../../../ui/code.tsx';
import type { AudienceNames } from '../../../ui/filter-text.ts';
import { Menu } from '../../../ui/menu.tsx';
import { stepTitle } from '../step-text.ts';
import { changeStep, removeStep } from './commands.ts';
import { ConditionForm, SplitForm, WaitForEventForm } from './forms/branch-forms.tsx';
import { EventForm, ExitForm, ListForm, UpdateContactForm, WebhookForm } from './forms/action-forms.tsx';
import { LetterForm, StepContent, type ContentFrom } from './forms/content-forms.tsx';
import type { StepFormProps } from './forms/form.ts';
import { WaitForm } from './forms/wait-form.tsx';
import { keyOf, type Step } from './model.ts';
import { errorsOf, type FlowProblems } from './problems.ts';
import type { FlowEditor } from './use-flow-editor.ts';

interface StepPanelProps {
  editor: FlowEditor;
  step: Step;
  problems: FlowProblems;
  names: AudienceNames;
  contentFrom: ContentFrom;
  onEditLetter: () => void;
  onMove: () => void;
  onCopy: (all: boolean) => void;
}

/** Returns what the form of a step needs. */
export function formOf({ editor, step, problems, names }: Omit<StepPanelProps, 'onMove' | 'onCopy' | 'onEditLetter'>): StepFormProps {
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

/** The form of one step, and what can be done with it. */
export function StepPanel(props: StepPanelProps) {
  const { editor, step, onMove, onCopy } = props;
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
      <StepForm {...props} />
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
      return <StepContent {...form} contentFrom={props.contentFrom} />;
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
      return <JsonBlock value={step} label="This console does not know this type of step. It is kept as it is." />;
  }
}

/** The card beside the views. A narrow page shows it over them. */
export function PanelFrame({
  title,
  focused,
  onClose,
  children,
}: {
  title: string;
  /** Changes when the focus should come here. */
  focused: number;
  onClose: () => void;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (focused > 0) heading.current?.focus();
  }, [focused]);
  return (
    <section
      className="card step-panel"
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) onClose();
      }}
    >
      <header className="panel-header">
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <Button kind="quiet" className="panel-close" aria-label="Close the panel" onClick={onClose}>
          ✕
        </Button>
      </header>
      <div className="panel-form">{children}</div>
    </section>
  );
}

export const panelTitle = (step: Step | undefined): string =>
  step ? `${stepTitle(step)} ${keyOf(step)}` : 'Who enters';
