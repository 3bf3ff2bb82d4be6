import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { useOpen } from '../../ui/links.tsx';
import { Menu } from '../../ui/menu.tsx';

type Channel = Schemas['Template']['channel'];

/** Creates an empty template and opens its editor, where everything else is set, including its name. */
export function useNewTemplate(onMade?: () => void) {
  const open = useOpen();
  return useAction({
    work: (channel: Channel, key) =>
      call(() =>
        api.POST('/v1/my/templates', {
          params: { header: { 'Idempotency-Key': key } },
          body: { name: 'New template', channel },
        }),
      ),
    refresh: ['templates'],
    onDone({ id }) {
      open(`/templates/${id}/edit`);
      onMade?.();
    },
  });
}

export function NewTemplate() {
  const { run, busy } = useNewTemplate();
  return (
    <Menu
      label="New template"
      className="button primary"
      items={[
        { label: 'For email', disabled: busy, onSelect: () => run('email') },
        { label: 'For SMS', disabled: busy, onSelect: () => run('sms') },
      ]}
    />
  );
}
