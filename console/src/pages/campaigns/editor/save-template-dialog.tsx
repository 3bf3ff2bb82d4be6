import { api, call, type Schemas } from '../../../api/client.ts';
import { type Content, withoutDraftFields } from '../../../editors/content/content.ts';
import { useAction } from '../../../ui/action.ts';
import { ActionForm } from '../../../ui/action-form.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Field, TextInput } from '../../../ui/field.tsx';
import { formText } from '../../../ui/form.ts';
import type { Campaign } from '../campaign-frame.tsx';

/** Keeps the letter as a template of the brand, for other campaigns. */
export function SaveTemplateDialog({
  letter,
  channel,
  onClose,
}: {
  letter: Content;
  channel: Campaign['channel'];
  onClose: () => void;
}) {
  const action = useAction({
    work: (name: string, key) =>
      call(() =>
        api.POST('/v1/my/templates', {
          params: { header: { 'Idempotency-Key': key } },
          body: { ...(withoutDraftFields(letter) as Schemas['TemplateAttributes']), name, channel },
        }),
      ),
    done: ({ name }) => `The letter is a template now: ${name}.`,
    refresh: ['templates'],
    fields: ['name'],
    onDone: onClose,
  });
  return (
    <Dialog open onClose={onClose} title="Save as a template">
      <ActionForm
        action={action}
        kept={null}
        onSubmit={(form) => action.run(formText(form, 'name'))}
        submit="Save"
        close={{ label: 'Close', onClick: onClose }}
      >
        <Field label="Name of the template" error={action.errorOf('name')}>
          <TextInput name="name" required autoFocus />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
