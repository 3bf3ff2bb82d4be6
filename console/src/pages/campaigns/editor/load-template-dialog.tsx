import { api, call } from '../../../api/client.ts';
import type { Content } from '../../../editors/content/content.ts';
import { useAction } from '../../../ui/action.ts';
import { ActionForm } from '../../../ui/action-form.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Field, Select } from '../../../ui/field.tsx';
import { formText } from '../../../ui/form.ts';
import { useStillShown } from '../../../ui/still-shown.ts';
import { letterOf } from './content.ts';
import { useTemplateChoices } from './template-choices.ts';

/** Replaces the letter by a copy of a template. */
export function LoadTemplateDialog({
  channel,
  onClose,
  onLoaded,
}: {
  channel: 'email' | 'sms';
  onClose: () => void;
  onLoaded: (letter: Content) => void;
}) {
  const choices = useTemplateChoices(channel);
  const isStillShown = useStillShown();
  const action = useAction({
    work: (id: number) => call(() => api.GET('/v1/my/templates/{id}', { params: { path: { id } } })),
    refresh: [],
    fields: [],
    onDone(template) {
      // A user who closes the dialog meanwhile keeps the letter.
      if (isStillShown()) onLoaded(letterOf(template));
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Load a template"
      description="Its content replaces the letter. Later changes to the template do not affect it."
    >
      <ActionForm
        action={action}
        kept={null}
        onSubmit={(form) => action.run(Number(formText(form, 'template')))}
        submit="Replace the letter"
        close={{ label: 'Close', onClick: onClose }}
      >
        <Field
          label="Template"
          hint={choices.length === 0 ? 'The brand has no template for it yet.' : undefined}
        >
          <Select name="template" required options={choices} />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
