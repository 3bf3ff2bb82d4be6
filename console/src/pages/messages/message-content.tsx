import { Tabs } from 'radix-ui';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { CodeBlock, JsonBlock } from '../../ui/code.tsx';
import { DetailList } from '../../ui/details.tsx';
import { Notice } from '../../ui/notice.tsx';
import { PreviewFrame } from '../../ui/preview-frame.tsx';

type Message = Schemas['MessageDetail'];

interface View {
  key: string;
  label: string;
  shown: ReactNode;
}

/** What was sent, as the recipient sees it and as it is. Strangers' HTML is shown only in a frame without scripts. */
export function MessageContent({ message }: { message: Message }) {
  const views = viewsOf(message);
  return (
    <>
      {message.html === null && message.text === null && <NoContent opaque={message.opaque} />}
      <Tabs.Root defaultValue={views[0]?.key ?? 'json'}>
        <Tabs.List className="tabs" aria-label="Content">
          {views.map(({ key, label }) => (
            <Tabs.Trigger key={key} value={key}>
              {label}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {views.map(({ key, shown }) => (
          <Tabs.Content key={key} value={key} className="tab-content">
            {shown}
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </>
  );
}

const NoContent = ({ opaque = false }: { opaque: boolean | undefined }) =>
  opaque ? (
    <Notice title="There is no preview">
      The program that sent this mail has signed or encrypted it, or built it in a form that Carillon passes
      on unchanged. So Carillon does not look into it, and counts no opens and clicks.
    </Notice>
  ) : (
    <Notice>The content is not stored any more, or it cannot be rendered.</Notice>
  );

function viewsOf(message: Message): View[] {
  const { id, html, text, headers, tags, attachments = [] } = message;
  const hasImages = attachments.some(({ content_id: contentId }) => contentId !== null);
  return [
    ...(html === null
      ? []
      : [
          {
            key: 'html',
            label: 'Preview',
            shown: (
              <>
                {hasImages && <p className="hint">The preview leaves out images that are among the files.</p>}
                <PreviewFrame of={{ message_id: id }} title="The message" />
              </>
            ),
          },
        ]),
    ...(text === null ? [] : [{ key: 'text', label: 'Plain text', shown: <CodeBlock text={text} /> }]),
    { key: 'headers', label: 'Headers and tags', shown: <HeadersAndTags headers={headers} tags={tags} /> },
    { key: 'json', label: 'JSON', shown: <JsonBlock value={message} label={`GET /v1/my/messages/${id}`} /> },
  ];
}

function HeadersAndTags({ headers, tags }: Pick<Message, 'headers' | 'tags'>) {
  return (
    <>
      <h3>Headers</h3>
      <Pairs values={headers} none="The request set no headers." />
      <h3>Tags</h3>
      <Pairs values={tags} none="The message has no tags." />
    </>
  );
}

function Pairs({ values, none }: { values: Record<string, string>; none: string }) {
  const items = Object.entries(values);
  return items.length === 0 ? <p className="muted">{none}</p> : <DetailList items={items} />;
}
