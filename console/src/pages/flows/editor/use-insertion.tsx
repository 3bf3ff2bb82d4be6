import { useState, type ReactNode } from 'react';
import { useBrand } from '../../../shell/brand.ts';
import { Button } from '../../../ui/button.tsx';
import { Notice } from '../../../ui/notice.tsx';
import { toast } from '../../../ui/toasts.tsx';
import { keyOf, type StepKey } from '../flow-layout.ts';
import { copySteps } from './clip.ts';
import { keepClip, useClip } from './clipboard.ts';
import { moveStep } from './commands.ts';
import { findStep, sequenceAt, type InsertionPoint, type Step } from './model.ts';
import { StepMenu } from './step-menu.tsx';
import { nameOf } from './texts.ts';
import type { FlowEditor } from './use-flow-editor.ts';

/** What '+' marks do: they add a step, paste what was copied, or take the step that is moved. */
export function useInsertion(flowId: number, editor: FlowEditor) {
  const { content } = editor;
  const { brandId, signedIn } = useBrand();
  const owner = { userId: signedIn.user.id, brandId };
  const clip = useClip(owner);
  const [place, setPlace] = useState<InsertionPoint | null>(null);
  const [moving, setMoving] = useState<StepKey | null>(null);
  const moved = moving === null ? undefined : findStep(content.steps, moving)?.step;
  return {
    addText: moved ? `Put ${nameOf(moved)}` : 'Add a step',
    add(chosen: InsertionPoint): void {
      if (!moved) setPlace(chosen);
      else if (editor.run((steps) => moveStep(steps, keyOf(moved), chosen))) setMoving(null);
    },
    move: (step: Step) => setMoving(keyOf(step)),
    /** @param all with the steps that follow in its sequence */
    copy(step: Step, all: boolean): void {
      const found = findStep(content.steps, keyOf(step))?.place;
      const sequence = (found && sequenceAt(content.steps, found.branch)) ?? [];
      const copied = all && found ? sequence.slice(found.index) : [step];
      if (keepClip(owner, copySteps(content.steps, copied.map(keyOf), flowId))) {
        toast('Copied. Paste it at a + mark, here or in another flow.');
      } else {
        toast('Not copied: this browser has no room for it.', { tone: 'bad' });
      }
    },
    notice: moved ? <Moving step={moved} onCancel={() => setMoving(null)} /> : null,
    menu: place && <StepMenu {...{ place, editor, flowId, clip }} onDone={() => setPlace(null)} />,
  };
}

const Moving = ({ step, onCancel }: { step: Step; onCancel: () => void }): ReactNode => (
  <Notice tone="busy" title={`Choose the + mark where ${nameOf(step)} should go.`}>
    <Button onClick={onCancel}>Leave it where it is</Button>
  </Notice>
);
