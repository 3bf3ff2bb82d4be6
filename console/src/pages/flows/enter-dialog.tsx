import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useListChoices } from '../../api/audience.ts';
import { labelOf } from '../../api/choices.ts';
import { api, call } from '../../api/client.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { useAction } from '../../ui/action.ts';
import { useContactChoice } from '../../ui/contact-choice.tsx';
import { DataFields } from '../../ui/data-fields.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { enter, newestRun, type Entered, type Entry } from './enter.ts';
import { entryMethod, REQUEST_TEXTS, type EntryMethod } from './entry-method.ts';
import type { Flow } from './flow-frame.tsx';
import { runText } from './run-text.ts';

const RUN_POLL_MS = 1_000;
const HINT = 'Type a name or an address, or its beginning.';

/** Lets one contact enter a flow, as its trigger does, and shows the run. */
export function EnterDialog({ flow, onClose }: { flow: Flow; onClose: () => void }) {
  const { contactId, field } = useContactChoice('Contact', HINT);
  const [data, setData] = useState<Record<string, unknown>>({});
  const [test, setTest] = useState(false);
  const { data: contact } = useQuery({
    queryKey: ['contacts', contactId],
    enabled: contactId !== null,
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/contacts/{id}', { params: { path: { id: contactId ?? 0 } }, signal })),
  });
  const method = entryMethod(flow.trigger, contact?.list_ids ?? []);
  const action = useAction({
    work: (entry: Entry, key) => enter(flow.id, entry, key),
    refresh: ['flow_runs', 'flows', 'contacts'],
    fields: [],
  });
  const { result: entered } = action;
  const isOther = entered !== undefined && entered.contactId !== contactId;
  return (
    <Dialog open onClose={onClose} title={`Let a contact enter “${flow.name}”`}>
      <ActionForm
        action={action}
        kept={null}
        disabled={!contact}
        onSubmit={() => contact && action.run({ contactId: contact.id, method, data, test })}
        submit="Let it enter"
        close={{ label: 'Close', onClick: onClose }}
      >
        {field}
        <MethodText method={method} />
        {method.by === 'event' && (
          <>
            <DataFields label="Data of the event" value={data} onChange={setData} />
            <Checkbox
              checked={test}
              onChange={({ target }) => setTest(target.checked)}
              label="As a test"
              hint="Its messages are not sent, and reports do not count it."
            />
          </>
        )}
        {contact && !entered && !test && <Before flow={flow} contactId={contact.id} />}
        {entered && !isOther && <Begun flowId={flow.id} entered={entered} />}
      </ActionForm>
    </Dialog>
  );
}

/** What the button does. */
function MethodText({ method }: { method: EntryMethod }) {
  const lists = useListChoices();
  switch (method.by) {
    case 'event':
      return (
        <p>
          This tracks the event <strong>{method.event}</strong> for the contact, as your application does.
          Other flows that wait for it see it, too.
        </p>
      );
    case 'list': {
      const list = labelOf(lists, method.listId);
      return (
        <p>
          This adds the contact to the list <strong>{list}</strong>, where it stays.
        </p>
      );
    }
    case 'request':
      return <p>{REQUEST_TEXTS[method.why]}</p>;
  }
}

/** Reasons why the contact may not enter. */
function Before({ flow, contactId }: { flow: Flow; contactId: number }) {
  const { data: run } = useQuery({
    queryKey: ['flow_runs', flow.id, 'newest', contactId],
    queryFn: ({ signal }) => newestRun(flow.id, contactId, signal),
  });
  const { reentry = 'once' } = flow.trigger.data;
  if (!run || run.test || reentry === 'every_time') return null;
  return (
    <Notice tone="warn" title={reentry === 'once' ? 'It does not enter again' : 'It may not enter again yet'}>
      <p>
        The contact has been here: <BrandLink to={`/flow-runs/${run.id}`}>Run {run.id}</BrandLink>.{' '}
        {reentry === 'once'
          ? 'The same contact enters this flow once.'
          : 'It enters again only after the time that the flow sets.'}
      </p>
    </Notice>
  );
}

/** The run, after it has begun. */
function Begun({ flowId, entered }: { flowId: number; entered: Entered }) {
  const { contactId, newestBefore } = entered;
  const { data: run } = useQuery({
    queryKey: ['flow_runs', flowId, 'after', newestBefore, contactId],
    queryFn: async ({ signal }) => {
      const newest = await newestRun(flowId, contactId, signal);
      return newest && newest.id > newestBefore ? newest : null;
    },
    refetchInterval: ({ state }) => (state.data ? false : RUN_POLL_MS),
  });
  if (run) {
    return (
      <Notice tone="good" title="The contact has entered">
        <p>
          <BrandLink to={`/flow-runs/${run.id}`}>Run {run.id}</BrandLink> {runText(run)}
        </p>
      </Notice>
    );
  }
  return (
    <Notice tone="busy" title="Waiting for its run to begin">
      <p>
        That takes a few seconds. If none begins, the contact does not match the filters, or may not enter
        again: the <BrandLink to={`/flows/${flowId}/report`}>report</BrandLink> counts why.
      </p>
    </Notice>
  );
}
