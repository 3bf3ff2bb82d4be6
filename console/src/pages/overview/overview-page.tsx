import { useState, type SubmitEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { SendMessageDialog } from '../messages/send-message-dialog.tsx';
import { Figures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Problems } from './problems.tsx';
import { SendingState } from './sending-state.tsx';

/** What is sent, how it goes, and what needs attention. */
export function OverviewPage() {
  const [sends, setSends] = useState(false);
  return (
    <>
      <PageHeader
        title="Overview"
        actions={
          <Button kind="primary" onClick={() => setSends(true)}>
            Send a message
          </Button>
        }
      />
      <FirstSteps />
      <FindMessages />
      <SendingState />
      <Problems />
      <Figures />
      {sends && <SendMessageDialog onClose={() => setSends(false)} />}
    </>
  );
}

/** Leads quickly from "my mail did not arrive" to the reason. */
function FindMessages() {
  const open = useOpen();
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const to = formText(new FormData(event.currentTarget), 'to').trim();
    if (to) open('/messages', { to });
  };
  return (
    <form className="filters find" role="search" aria-label="Find messages" onSubmit={submit}>
      <Field label="A message did not arrive? Find it by its recipient">
        <TextInput name="to" placeholder="ada@example.com" />
      </Field>
      <Button type="submit">Find messages</Button>
    </form>
  );
}
