import { Button } from '../../../ui/button.tsx';
import { StepContent } from './forms/content-forms.tsx';
import { contentFromOf, formOf, type StepEditorProps } from './step-panel.tsx';
import { nameOf } from './texts.ts';

/** The letter of an email step, over the whole page. */
export function StepLetter({ onClose, ...props }: StepEditorProps & { onClose: () => void }) {
  return (
    <>
      <div className="actions">
        <Button onClick={onClose}>Back to the steps</Button>
        <h2>Letter of {nameOf(props.step)}</h2>
      </div>
      <StepContent {...formOf(props)} contentFrom={contentFromOf(props.flow)} />
    </>
  );
}
