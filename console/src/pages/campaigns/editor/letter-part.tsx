import { useState } from 'react';
import { ContentEditor } from '../../../editors/content/content-editor.tsx';
import type { Content } from '../../../editors/content/content.ts';
import { Button } from '../../../ui/button.tsx';
import type { Campaign } from '../campaign-frame.tsx';
import { senderText } from './audience-text.ts';
import { errorsBelow, type FieldErrors } from './check.ts';
import { EditorPart } from './editor-part.tsx';
import { LoadTemplateDialog } from './load-template-dialog.tsx';
import { SaveTemplateDialog } from './save-template-dialog.tsx';

/** What the recipients get. */
export function LetterPart({
  letter,
  channel,
  sender,
  isSenderFixed,
  errors,
  onChange,
}: {
  letter: Content;
  channel: Campaign['channel'];
  /** The sender; null if it is not known. */
  sender: string | null;
  isSenderFixed: boolean;
  errors: FieldErrors;
  onChange: (next: Content) => void;
}) {
  const [dialog, setDialog] = useState<'load' | 'save' | null>(null);
  const [loads, setLoads] = useState(0);
  const close = () => setDialog(null);
  return (
    <EditorPart
      name="letter"
      actions={
        <>
          <Button onClick={() => setDialog('load')}>Load a template</Button>
          <Button onClick={() => setDialog('save')}>Save as a template</Button>
        </>
      }
    >
      <ContentEditor
        key={loads}
        value={letter}
        onChange={onChange}
        channel={channel}
        footer="marketing"
        sender={sender === null ? null : senderText(sender)}
        isSenderFixed={isSenderFixed}
        errors={errorsBelow(errors, 'template_attributes')}
      />
      {dialog === 'load' && (
        <LoadTemplateDialog
          channel={channel}
          onClose={close}
          onLoaded={(loaded) => {
            onChange(loaded);
            setLoads(loads + 1);
            close();
          }}
        />
      )}
      {dialog === 'save' && <SaveTemplateDialog letter={letter} channel={channel} onClose={close} />}
    </EditorPart>
  );
}
