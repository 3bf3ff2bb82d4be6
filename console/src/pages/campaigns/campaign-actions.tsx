import { useEffect, useId, useRef, useState } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button, type ButtonProps } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { useOpen } from '../../ui/links.tsx';
import { Menu } from '../../ui/menu.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Campaign } from './campaign-frame.tsx';
import { SendDialog } from './send-dialog.tsx';
import type { UnpublishedChanges } from './unpublished-changes.ts';
import { isBegun, mayBeMoved } from './waiting.ts';

const REFRESH = ['campaigns'] as const;

const REASON = 'Save or discard the changes first.';

/** The actions on a campaign in its state. */
export function CampaignActions({ campaign, changes }: { campaign: Campaign; changes: UnpublishedChanges }) {
  const { status, data } = campaign;
  const reasonId = useId();
  const isBlocked = changes !== 'none';
  const blocked = { disabled: isBlocked, ...(changes === 'some' && { 'aria-describedby': reasonId }) };
  // An undo comes later than the event that offers it.
  const latest = useRef(isBlocked);
  useEffect(() => {
    latest.current = isBlocked;
  });
  const waits = status === 'active' || status === 'paused';
  return (
    <>
      {changes === 'some' && (
        <span className="muted" id={reasonId}>
          {REASON}
        </span>
      )}
      {mayBeMoved(campaign) && <SendButton campaign={campaign} blocked={blocked} />}
      {status === 'active' && <PauseButton campaign={campaign} mayResume={() => !latest.current} />}
      {status === 'paused' && <ResumeButton campaign={campaign} blocked={blocked} />}
      {waits && <CancelButton campaign={campaign} />}
      {status === 'completed' && data.progress.unknown_count > 0 && (
        <ResendUnknownButton campaign={campaign} />
      )}
      {status === 'draft' && <DeleteButton campaign={campaign} />}
      <DuplicateMenu campaign={campaign} disabled={isBlocked} />
      {status !== 'draft' && <WorkflowLink id={`campaign/${campaign.id}`} />}
    </>
  );
}

type Blocked = Pick<ButtonProps, 'disabled' | 'aria-describedby'>;

function SendButton({ campaign, blocked }: { campaign: Campaign; blocked: Blocked }) {
  // The campaign may change while the dialog is open; what was shown before is what the user means.
  const [shown, setShown] = useState<Campaign | null>(null);
  return (
    <>
      <Button kind="primary" {...blocked} onClick={() => setShown(campaign)}>
        Send
      </Button>
      {shown && <SendDialog campaign={shown} onClose={() => setShown(null)} />}
    </>
  );
}

/** A change since the campaign was loaded stops the action. */
const changeStatus = ({ id, revision }: Pick<Campaign, 'id' | 'revision'>, status: 'active' | 'paused') =>
  call(() =>
    api.PATCH('/v1/my/campaigns/{id}', {
      params: { path: { id }, header: { 'If-Match': `"${revision}"` } },
      body: { status },
    }),
  );

function PauseButton({ campaign, mayResume }: { campaign: Campaign; mayResume: () => boolean }) {
  const resume = useAction({
    work: (paused: Campaign) => changeStatus(paused, 'active'),
    done: 'The campaign is resumed.',
    refresh: REFRESH,
  });
  const pause = useAction({
    work: () => changeStatus(campaign, 'paused'),
    refresh: REFRESH,
    onDone: (paused) =>
      toast('The campaign is paused.', {
        undo: () => (mayResume() ? resume.run(paused) : toast(REASON, { tone: 'bad' })),
      }),
  });
  return (
    <Button busy={pause.busy} onClick={() => pause.run()}>
      Pause
    </Button>
  );
}

function ResumeButton({ campaign, blocked }: { campaign: Campaign; blocked: Blocked }) {
  const { run, busy } = useAction({
    work: () => changeStatus(campaign, 'active'),
    done: 'The campaign is resumed.',
    refresh: REFRESH,
  });
  return (
    <Button kind="primary" busy={busy} {...blocked} onClick={() => run()}>
      Resume
    </Button>
  );
}

function CancelButton({ campaign }: { campaign: Campaign }) {
  const { id } = campaign;
  const { run, busy } = useAction({
    work: () => call(() => api.POST('/v1/my/campaigns/{id}/cancel', { params: { path: { id } } })),
    done: (now) => (now.status === 'draft' ? 'The campaign is a draft again.' : 'The campaign is canceled.'),
    refresh: REFRESH,
  });
  return (
    <ConfirmButton
      label="Cancel"
      title="Cancel this campaign?"
      confirm="Cancel it"
      busy={busy}
      onConfirm={run}
    >
      <p>
        {isBegun(campaign)
          ? 'Recipients who were not reached yet get nothing. This cannot be undone.'
          : 'Nothing has been sent yet, so it becomes a draft again.'}
      </p>
    </ConfirmButton>
  );
}

function ResendUnknownButton({ campaign }: { campaign: Campaign }) {
  const { id, data } = campaign;
  const { run, busy } = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/campaigns/{id}/resend_unknown', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    done: 'The messages are sent again.',
    refresh: REFRESH,
  });
  const count = data.progress.unknown_count;
  return (
    <ConfirmButton
      label="Resend unknown"
      title={`Send again to ${count} recipient${count === 1 ? '' : 's'}?`}
      kind="secondary"
      confirm="Send again"
      busy={busy}
      onConfirm={run}
    >
      <p>It is unknown whether the provider has their message. Some of them may get it twice.</p>
    </ConfirmButton>
  );
}

function DeleteButton({ campaign: { id } }: { campaign: Campaign }) {
  const open = useOpen();
  const { run, busy } = useAction({
    work: () => call(() => api.DELETE('/v1/my/campaigns/{id}', { params: { path: { id } } })),
    done: 'The draft is deleted.',
    // The user leaves the page, which must not load what was deleted.
    refresh: [],
    onDone: () => open('/campaigns'),
  });
  return (
    <ConfirmButton label="Delete" title="Delete this draft?" busy={busy} onConfirm={run}>
      <p>Its content is deleted with it. This cannot be undone.</p>
    </ConfirmButton>
  );
}

function DuplicateMenu({ campaign, disabled }: { campaign: Campaign; disabled: boolean }) {
  const { id, status, channel } = campaign;
  const open = useOpen();
  const { run } = useAction({
    work: (audience: 'same' | 'not_opened', key) =>
      call(() =>
        api.POST('/v1/my/campaigns/{id}/duplicate', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: { audience },
        }),
      ),
    done: (_, audience) =>
      audience === 'same'
        ? 'This is the copy. It is a draft.'
        : 'This is the copy, a draft. It is not for contacts who have left the list or the segment since.',
    refresh: REFRESH,
    onDone: (copy) => open(`/campaigns/${copy.id}`),
  });
  return (
    <Menu
      label="Duplicate"
      items={[
        { label: 'For the same audience', disabled, onSelect: () => run('same') },
        {
          label: 'For those who have not opened it',
          disabled: disabled || status !== 'completed' || channel !== 'email',
          onSelect: () => run('not_opened'),
        },
      ]}
    />
  );
}
