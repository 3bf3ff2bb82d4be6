import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { countryName } from '../../ui/countries.ts';
import { Card, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { useId, useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { ContactChannels } from './contact-channels.tsx';
import { ContactForm } from './contact-form.tsx';
import { ContactLists } from './contact-lists.tsx';
import { contactName } from '../../ui/contact-text.ts';
import { ContactTimeline } from './contact-timeline.tsx';

type Contact = Schemas['Contact'];

export function ContactPage() {
  const id = useId('contactId');
  const query = useQuery({
    queryKey: ['contacts', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/contacts/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <QueryView query={query}>
      {(contact) => (
        <>
          <PageHeader title={contactName(contact)} actions={<Actions contact={contact} />}>
            <StatusBadge status={contact.verification_status} />
          </PageHeader>
          <ContactChannels contact={contact} />
          <div className="grid">
            <About contact={contact} />
            <Data data={contact.data} />
            <ContactLists contact={contact} />
          </div>
          <ContactTimeline contactId={id} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ contact }: { contact: Contact }) {
  const open = useOpen();
  const [editing, setEditing] = useState(false);
  const remove = useAction({
    work: () => call(() => api.DELETE('/v1/my/contacts/{id}', { params: { path: { id: contact.id } } })),
    done: 'Contact deleted.',
    refresh: [],
    onDone: () => open('/contacts'),
  });
  const close = () => setEditing(false);
  return (
    <>
      <Button onClick={() => setEditing(true)}>Edit</Button>
      <ConfirmButton
        label="Delete"
        title={`Delete ${contactName(contact)}?`}
        busy={remove.busy}
        onConfirm={() => remove.run()}
      >
        <p>
          The contact, its events and the contents of messages to it are deleted, and its queued messages are
          canceled. This cannot be undone. Suppressions and opt-outs stay.
        </p>
      </ConfirmButton>
      <Dialog open={editing} onClose={close} title="Edit the contact">
        <ContactForm contact={contact} onDone={close} onCancel={close} />
      </Dialog>
    </>
  );
}

const About = ({ contact }: { contact: Contact }) => (
  <Card title="About">
    <DetailList
      items={[
        ['First name', contact.first_name],
        ['Last name', contact.last_name],
        ['Country', contact.country_code === null ? null : countryName(contact.country_code)],
        ['Source', contact.source],
        ['Enrichment', contact.enrichment_status.replaceAll('_', ' ')],
        ['Last interaction', <Time key="interaction" at={contact.last_interacted_at} />],
        ['Created', <Time key="created" at={contact.created_at} full />],
        ['Id', `${contact.id}, ${contact.uuid}`],
      ]}
    />
  </Card>
);

const dataText = (value: unknown) =>
  typeof value === 'object' && value !== null ? <code>{JSON.stringify(value)}</code> : String(value);

const Data = ({ data }: { data: Contact['data'] }) => (
  <Card title="Data">
    {Object.keys(data).length === 0 ? (
      <p className="muted">None. Templates and segments can use what you put here.</p>
    ) : (
      <DetailList items={Object.entries(data).map(([key, value]) => [key, dataText(value)])} />
    )}
  </Card>
);
