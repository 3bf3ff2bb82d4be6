import { api, call } from '../api/client.ts';
import { useBrand } from './brand.ts';
import { useReloadSignedIn } from './reload-signed-in.ts';
import { useAction } from '../ui/action.ts';
import { ConfirmButton } from '../ui/confirm.tsx';

/** Takes the signed-in user out of the current account. */
export function LeaveButton() {
  const { account, signedIn } = useBrand();
  const reloadSignedIn = useReloadSignedIn();
  const accountName = account.name || `account ${account.id}`;
  const leave = useAction({
    work: () => call(() => api.DELETE('/v1/my/users/{id}', { params: { path: { id: signedIn.user.id } } })),
    done: `You have left ${accountName}.`,
    refresh: [],
    onDone: () => void reloadSignedIn(),
  });
  return (
    <ConfirmButton
      label="Leave the account"
      title={`Leave ${accountName}?`}
      confirm="Leave"
      busy={leave.busy}
      onConfirm={() => leave.run()}
    >
      <p>You lose access to all of its brands. To come back, you need an invitation.</p>
    </ConfirmButton>
  );
}
