import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { useOpen } from '../../ui/links.tsx';
import { Menu } from '../../ui/menu.tsx';

type Channel = Schemas['Campaign']['channel'];

/**
 * Creates an empty draft and opens its editor, where everything else is set.
 * @param props.segmentId its audience, if it is known
 */
export function NewCampaign({ segmentId }: { segmentId?: number }) {
  const isFor = segmentId !== undefined;
  const open = useOpen();
  const { run, busy } = useAction({
    work: (channel: Channel, key) =>
      call(() =>
        api.POST('/v1/my/campaigns', {
          params: { header: { 'Idempotency-Key': key } },
          body: {
            ...{ name: 'New campaign', channel, status: 'draft' },
            ...(isFor ? { trigger_attributes: { segment_id: segmentId } } : {}),
          },
        }),
      ),
    refresh: ['campaigns'],
    onDone: ({ id }) => open(`/campaigns/${id}`),
  });
  return (
    <Menu
      label={isFor ? 'New campaign to this segment' : 'New campaign'}
      className={isFor ? 'button' : 'button primary'}
      items={[
        { label: 'By email', disabled: busy, onSelect: () => run('email') },
        { label: 'By SMS', disabled: busy, onSelect: () => run('sms') },
      ]}
    />
  );
}
