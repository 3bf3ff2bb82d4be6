import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { stepTitle } from '../step-text.ts';
import { insertStep } from './commands.ts';
import type { Place, StepType } from './model.ts';
import type { FlowEditor } from './use-flow-editor.ts';

const TYPES: readonly StepType[] = [
  'email',
  'sms',
  'wait',
  'condition',
  'wait_for_event',
  'split',
  'update_contact',
  'add_to_list',
  'remove_from_list',
  'event',
  'webhook',
  'exit',
];

/** Asks which step to put at a '+' mark. */
export function StepMenu({
  place,
  editor,
  onClose,
}: {
  place: Place;
  editor: FlowEditor;
  onClose: () => void;
}) {
  return (
    <Dialog open onClose={onClose} title="Add a step">
      <div className="step-types">
        {TYPES.map((type) => (
          <Button
            key={type}
            onClick={() => {
              editor.run((steps) => insertStep(steps, place, type));
              onClose();
            }}
          >
            {stepTitle({ type })}
          </Button>
        ))}
      </div>
    </Dialog>
  );
}
