import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { toast } from '../../ui/toasts.tsx';
import { EnterDialog } from './enter-dialog.tsx';

type Flow = Schemas['Flow'];

const REFRESH = ['flows', 'flow_runs'] as const;

/** A change since the flow was loaded stops the action. */
const tagOf = ({ revision }: Flow) => ({ 'If-Match': `"${revision}"` });

/** Whether contacts enter now. */
const isOpen = ({ status, approval_state: approval }: Flow) =>
  status === 'active' && (approval === 'not_required' || approval === 'approved');

/** The actions on a flow in its state. */
export function FlowActions({ flow }: { flow: Flow }) {
  const { id, status, trigger } = flow;
  return (
    <>
      {status !== 'archived' && (
        <BrandLink to={`/flows/${id}/edit`} className="button">
          Edit
        </BrandLink>
      )}
      {status === 'draft' && <ActivateButton flow={flow} />}
      {isOpen(flow) && <EnterButton flow={flow} />}
      {status === 'active' && <PauseButton flow={flow} />}
      {status === 'paused' && <ResumeButton flow={flow} />}
      <DuplicateButton flow={flow} />
      {status !== 'archived' && <ArchiveButton flow={flow} />}
      {status === 'active' && trigger.segment_id !== null && <WorkflowLink id={`flow-audience/${id}`} />}
    </>
  );
}

function EnterButton({ flow }: { flow: Flow }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Let a contact enter</Button>
      {open && <EnterDialog flow={flow} onClose={() => setOpen(false)} />}
    </>
  );
}

function ActivateButton({ flow }: { flow: Flow }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        Activate
      </Button>
      {open && <ActivateDialog flow={flow} onClose={() => setOpen(false)} />}
    </>
  );
}

function ActivateDialog({ flow, onClose }: { flow: Flow; onClose: () => void }) {
  const { id, trigger } = flow;
  const mayEnterExisting = trigger.contact_list_id !== null || trigger.segment_id !== null;
  const action = useAction({
    work: (enterExisting: boolean) =>
      call(() =>
        api.POST('/v1/my/flows/{id}/activate', {
          params: { path: { id }, header: tagOf(flow) },
          body: { enter_existing: enterExisting },
        }),
      ),
    done: 'The flow is active.',
    refresh: REFRESH,
    fields: [],
    onDone: onClose,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(new FormData(event.currentTarget).has('enter_existing'));
  };
  return (
    <Dialog open onClose={onClose} title={`Activate “${flow.name}”?`}>
      <form onSubmit={submit}>
        <p>Its contents are checked first. From then on, contacts enter by its trigger.</p>
        {mayEnterExisting && (
          <Checkbox
            name="enter_existing"
            label="Contacts who are already in its audience enter, too"
            hint="Without this, only those who come later enter."
          />
        )}
        {action.fault !== null && (
          <Notice tone="bad" title="The flow was not activated">
            {action.fault}
          </Notice>
        )}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Activate
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}

function PauseButton({ flow }: { flow: Flow }) {
  const path = { id: flow.id };
  const resume = useAction({
    work: () => call(() => api.POST('/v1/my/flows/{id}/resume', { params: { path } })),
    done: 'The flow is active again.',
    refresh: REFRESH,
  });
  const pause = useAction({
    work: () => call(() => api.POST('/v1/my/flows/{id}/pause', { params: { path, header: tagOf(flow) } })),
    refresh: REFRESH,
    onDone: () => toast('The flow is paused.', { undo: () => resume.run() }),
  });
  return (
    <Button busy={pause.busy} onClick={() => pause.run()}>
      Pause
    </Button>
  );
}

function ResumeButton({ flow }: { flow: Flow }) {
  const { id } = flow;
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  const action = useAction({
    work: (overdue: 'run' | 'exit') =>
      call(() =>
        api.POST('/v1/my/flows/{id}/resume', {
          params: { path: { id }, header: tagOf(flow) },
          body: { overdue },
        }),
      ),
    done: 'The flow is active again.',
    refresh: REFRESH,
    fields: [],
    onDone: close,
  });
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        Resume
      </Button>
      <Dialog open={open} onClose={close} title={`Resume “${flow.name}”?`}>
        <p>Some steps may have come due during the pause. Contacts who did not enter do not enter later.</p>
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button kind="primary" busy={action.busy} onClick={() => action.run('run')}>
            Take the steps that came due
          </Button>
          <Button busy={action.busy} onClick={() => action.run('exit')}>
            End those runs
          </Button>
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    </>
  );
}

function DuplicateButton({ flow: { id } }: { flow: Flow }) {
  const open = useOpen();
  const { run, busy } = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/flows/{id}/duplicate', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    done: 'This is the copy. It is a draft.',
    refresh: REFRESH,
    onDone: (copy) => open(`/flows/${copy.id}`),
  });
  return (
    <Button busy={busy} onClick={() => run()}>
      Duplicate
    </Button>
  );
}

function ArchiveButton({ flow }: { flow: Flow }) {
  const { run, busy } = useAction({
    work: () =>
      call(() => api.DELETE('/v1/my/flows/{id}', { params: { path: { id: flow.id }, header: tagOf(flow) } })),
    done: 'The flow is archived.',
    refresh: REFRESH,
  });
  return (
    <ConfirmButton label="Archive" title="Archive this flow?" busy={busy} onConfirm={run}>
      <p>Its runs and waiting messages are canceled. It can still be read, but not activated again.</p>
    </ConfirmButton>
  );
}
