import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, StatusBadge } from '../../ui/details.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { RecoveryCodesDialog } from './recovery-codes-dialog.tsx';
import { TurnOnDialog } from './turn-on-dialog.tsx';

const REFRESH = ['second_factor', 'sessions', 'users'];

/** Turns the second factor of the user on and off. */
export function SecondFactorCard() {
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const state = useQuery({
    queryKey: ['second_factor'],
    queryFn: () => call(() => api.GET('/v1/my/user/second_factor')),
  });
  return (
    <Card title="Second factor">
      <p>With it, signing in needs a code of an authenticator app, besides the password.</p>
      <QueryView query={state}>
        {(factor) =>
          factor.enabled ? <TurnedOn factor={factor} show={setCodes} /> : <TurnedOff show={setCodes} />
        }
      </QueryView>
      <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />
    </Card>
  );
}

type Show = (codes: readonly string[]) => void;

function TurnedOff({ show }: { show: Show }) {
  const [secret, setSecret] = useState<Schemas['SecondFactorSecret'] | null>(null);
  const begin = useAction({
    work: () => call(() => api.POST('/v1/my/user/second_factor', { body: {} })),
    refresh: [],
    onDone: setSecret,
  });
  return (
    <>
      <p>
        <StatusBadge status="off" tone="quiet" />
      </p>
      <div className="actions">
        <Button kind="primary" busy={begin.busy} onClick={() => begin.run()}>
          Turn it on
        </Button>
      </div>
      {secret && (
        <TurnOnDialog
          secret={secret}
          refresh={REFRESH}
          onClose={() => setSecret(null)}
          onDone={(codes) => {
            setSecret(null);
            show(codes);
          }}
        />
      )}
    </>
  );
}

function TurnedOn({ factor, show }: { factor: Schemas['SecondFactor']; show: Show }) {
  const renew = useAction({
    work: () => call(() => api.POST('/v1/my/user/second_factor/recovery_codes', { body: {} })),
    refresh: REFRESH,
    onDone: ({ recovery_codes: codes }) => show(codes),
  });
  const turnOff = useAction({
    work: () => call(() => api.DELETE('/v1/my/user/second_factor')),
    done: 'Second factor turned off.',
    refresh: REFRESH,
  });
  return (
    <>
      <p>
        <StatusBadge status="on" /> {factor.recovery_codes_left} recovery codes left
      </p>
      <div className="actions">
        <ConfirmButton
          label="New recovery codes"
          title="Create new recovery codes?"
          kind="secondary"
          busy={renew.busy}
          onConfirm={() => renew.run()}
        >
          <p>The former codes no longer work.</p>
        </ConfirmButton>
        <ConfirmButton
          label="Turn it off"
          title="Turn the second factor off?"
          busy={turnOff.busy}
          onConfirm={() => turnOff.run()}
        >
          <p>Signing in then needs only your password.</p>
        </ConfirmButton>
      </div>
    </>
  );
}
