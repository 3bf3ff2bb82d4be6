import { useState } from 'react';
import { Button } from '../../../ui/button.tsx';
import { Notice } from '../../../ui/notice.tsx';
import { LoadTemplateDialog } from '../../campaigns/editor/load-template-dialog.tsx';
import { keyOf } from '../flow-layout.ts';
import { changeStep, renewStep } from './commands.ts';
import { channelOf, letterPatch } from './letter-of-step.ts';
import type { Step } from './model.ts';
import { errorsOf, type FlowProblems } from './problems.ts';
import type { FlowEditor } from './use-flow-editor.ts';

/** What is wrong with a step that was copied from elsewhere or has been removed meanwhile, and how to correct it. */
export function StepRepairs({
  editor,
  step,
  problems,
}: {
  editor: FlowEditor;
  step: Step;
  problems: FlowProblems;
}) {
  const [isChoosing, setChoosing] = useState(false);
  const key = keyOf(step);
  const { template_id: ofTemplate = [], id: ofId = [] } = errorsOf(problems, key);
  const change = (patch: Partial<Step>) => editor.run((steps) => changeStep(steps, key, patch));
  // A new step has no template either.
  if (ofId.length > 0 && step.id !== undefined) {
    return (
      <Notice tone="bad" title={ofId.join(' ')}>
        <Button onClick={() => editor.run((steps) => renewStep(steps, key))}>Make it a new step</Button>
      </Notice>
    );
  }
  if (ofTemplate.length === 0 || step.template_id === undefined) return null;
  return (
    <Notice tone="bad" title={ofTemplate.join(' ')}>
      <div className="actions">
        <Button onClick={() => change({ template_id: undefined })}>Keep this content</Button>
        <Button onClick={() => setChoosing(true)}>Choose a template</Button>
      </div>
      {isChoosing && (
        <LoadTemplateDialog
          channel={channelOf(step)}
          onClose={() => setChoosing(false)}
          onLoaded={(letter) => {
            change({ ...letterPatch(step, letter), template_id: undefined });
            setChoosing(false);
          }}
        />
      )}
    </Notice>
  );
}
