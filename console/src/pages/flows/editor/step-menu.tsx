import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { moveByKeys } from '../flow-graph.tsx';
import { stepTitle } from '../step-text.ts';
import { pasteSteps, readClip, type Clip } from './clip.ts';
import { insertStep } from './commands.ts';
import type { InsertionPoint, Step, StepType } from './model.ts';
import { insertionText } from './texts.ts';
import type { FlowEditor } from './use-flow-editor.ts';

const TYPES: readonly { title: string; types: readonly StepType[] }[] = [
  { title: 'Send', types: ['email', 'sms'] },
  { title: 'Wait', types: ['wait', 'wait_for_event'] },
  { title: 'Choose', types: ['condition', 'split', 'exit'] },
  { title: 'Change', types: ['update_contact', 'add_to_list', 'remove_from_list'] },
  { title: 'Notify', types: ['webhook', 'event'] },
];

/** Asks which step to put at a '+' mark. */
export function StepMenu({
  place,
  editor,
  flowId,
  clip,
  onDone,
}: {
  place: InsertionPoint;
  editor: FlowEditor;
  flowId: number;
  clip: Clip | null;
  /** @param added whether a step was added */
  onDone: (added: boolean) => void;
}) {
  const copied = clip === null ? null : readClip(clip);
  return (
    <Dialog
      open
      onClose={() => onDone(false)}
      title={`Add a step ${insertionText(editor.content.steps, place)}`}
    >
      <div className="step-menu" onKeyDown={moveByKeys}>
        {TYPES.map(({ title, types }) => (
          <section key={title} className="step-types">
            <h3>{title}</h3>
            <div className="actions">
              {types.map((type) => (
                <Button
                  key={type}
                  autoFocus={type === 'email'}
                  onClick={() => onDone(editor.run((steps) => insertStep(steps, place, type)))}
                >
                  {stepTitle({ type })}
                </Button>
              ))}
            </div>
          </section>
        ))}
        {clip !== null && copied && (
          <section className="step-types">
            <h3>Copied</h3>
            <Button onClick={() => onDone(editor.run((steps) => pasteSteps(steps, place, clip, flowId)))}>
              Paste {clipText(copied.steps)}
            </Button>
          </section>
        )}
      </div>
    </Dialog>
  );
}

const SHOWN = 3;

function clipText(steps: readonly Step[]): string {
  const titles = steps.slice(0, SHOWN).map((step) => stepTitle(step));
  const more = steps.length - SHOWN;
  return `${titles.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
