import { useEffect, useRef, type ReactNode } from 'react';
import type { AudienceNames } from '../../../api/choices.ts';
import { Button } from '../../../ui/button.tsx';
import type { Flow } from '../flow-frame.tsx';
import { keyOf, type StepKey } from '../flow-layout.ts';
import { findStep, type InsertionPoint, type Step } from './model.ts';
import type { FlowProblems } from './problems.ts';
import { NextStep, StepPanel } from './step-panel.tsx';
import { nameOf } from './texts.ts';
import { TriggerForm } from './trigger-form.tsx';
import type { FlowEditor } from './use-flow-editor.ts';
import type { Panel } from './use-panel.ts';

/** The form of the selected step, or of the trigger. */
export function SidePanel({
  flow,
  editor,
  names,
  problems,
  panel,
  onEditLetter,
  onAdd,
  onMove,
  onCopy,
}: {
  flow: Flow;
  editor: FlowEditor;
  names: AudienceNames;
  problems: FlowProblems;
  panel: Panel;
  onEditLetter: (key: StepKey) => void;
  onAdd: (place: InsertionPoint) => void;
  onMove: (step: Step) => void;
  onCopy: (step: Step, all: boolean) => void;
}) {
  const { content, selected } = editor;
  const found = selected === null ? undefined : findStep(content.steps, selected);
  const step = found?.step;
  return (
    <Frame title={step ? nameOf(step) : 'Who enters'} panel={panel}>
      {found && step ? (
        <StepPanel
          key={keyOf(step)}
          {...{ flow, editor, step, names, problems }}
          onEditLetter={() => onEditLetter(keyOf(step))}
          onNext={() => onAdd({ ...found.place, index: found.place.index + 1 })}
          onMove={() => {
            panel.close();
            onMove(step);
          }}
          onCopy={(all) => onCopy(step, all)}
        />
      ) : (
        <>
          <TriggerForm content={content} change={editor.change} errors={problems.trigger} names={names} />
          {content.steps.length === 0 && <NextStep onNext={() => onAdd({ branch: null, index: 0 })} />}
        </>
      )}
    </Frame>
  );
}

/** The card beside the views. On a narrow page it lies over them. */
function Frame({
  title,
  panel: { isOpen, focused, close },
  children,
}: {
  title: string;
  panel: Panel;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (focused > 0) heading.current?.focus();
  }, [focused]);
  return (
    <section
      className={isOpen ? 'card side-panel open' : 'card side-panel'}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) close();
      }}
    >
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <Button kind="quiet" className="panel-close" aria-label="Close the panel" onClick={close}>
          ✕
        </Button>
      </header>
      {children}
    </section>
  );
}
