import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId, useOpen } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { ConversationActions } from './conversation-actions.tsx';
import { type Mail, MailView } from './mail-view.tsx';
import { ReplyForm } from './reply-form.tsx';

type Conversation = Schemas['Conversation'];

const POLL_NEW_MAIL_MS = 15_000;
const UNDER_WAY = new Set(['queued', 'held']);
const isUnderWay = (mails: readonly Mail[]) => mails.some(({ status }) => UNDER_WAY.has(status ?? ''));

/** Marks a conversation as read when it is opened, and when more mail arrives while it is open. */
function useMarkRead({ id, unread_count: unread, last_message_at: last }: Conversation): void {
  const { run } = useAction({
    work: () =>
      call(() => api.POST('/v1/my/conversations/{id}/read', { params: { path: { id } }, body: {} })),
    refresh: ['conversations'],
  });
  useEffect(() => {
    if (unread > 0) run();
    // Not when only the number changes: the user may have marked it as unread.
  }, [id, last]);
}

/** A thread: the mail, the answers, and a form for the next one. */
export function ConversationPage() {
  const id = useId('conversationId');
  const query = useQuery({
    queryKey: ['conversations', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/conversations/{id}', { params: { path: { id } }, signal })),
    refetchInterval: POLL_NEW_MAIL_MS,
  });
  return <QueryView query={query}>{(conversation) => <Thread conversation={conversation} />}</QueryView>;
}

function Thread({ conversation }: { conversation: Conversation }) {
  useMarkRead(conversation);
  const { id, subject, status, contact_id: contactId, linked_conversation_id: linked } = conversation;
  return (
    <>
      <PageHeader
        title={subject || '(no subject)'}
        actions={<ConversationActions conversation={conversation} />}
      >
        <p className="actions">
          <StatusBadge status={status} />
          {contactId !== null && <BrandLink to={`/contacts/${contactId}`}>Contact</BrandLink>}
          {linked !== null && <BrandLink to={`/inbox/${linked}`}>The conversation it refers to</BrandLink>}
          <span className="muted">
            Last message <Time at={conversation.last_message_at} />
          </span>
        </p>
      </PageHeader>
      <ReplyForm key={id} conversationId={id} />
      <Mails conversation={conversation} />
    </>
  );
}

function Mails({ conversation: { id, last_message_at: last } }: { conversation: Conversation }) {
  const { manages } = useBrand();
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['conversations', id, 'messages', list.query, last],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/conversations/{conversation_id}/messages', {
          params: { path: { conversation_id: id }, query: list.query },
          signal,
        }),
      ),
    placeholderData: (previous) => previous,
    refetchInterval: ({ state }) => (isUnderWay(state.data?.rows ?? []) ? POLL_MS : false),
  });
  return (
    <Card title="Messages, newest first">
      <QueryView query={query}>
        {({ rows }) => (
          <ol className="thread">
            {rows.map((mail) => (
              <li key={mail.id}>
                <MailView mail={mail} />
                {manages && <DeleteMessage mail={mail} conversationId={id} isOnly={rows.length === 1} />}
              </li>
            ))}
          </ol>
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </Card>
  );
}

function DeleteMessage({
  mail,
  conversationId,
  isOnly,
}: {
  mail: Mail;
  conversationId: number;
  /** The conversation is deleted with its last message. */
  isOnly: boolean;
}) {
  const open = useOpen();
  const path = { conversation_id: conversationId, id: mail.id };
  const remove = useAction({
    work: () =>
      call(() => api.DELETE('/v1/my/conversations/{conversation_id}/messages/{id}', { params: { path } })),
    done: 'The message is deleted.',
    refresh: isOnly ? [] : ['conversations'],
    ...(isOnly && { onDone: () => open('/inbox') }),
  });
  return (
    <ConfirmButton
      label="Delete message"
      title="Delete this message?"
      confirm="Delete message"
      kind="quiet"
      busy={remove.busy}
      onConfirm={() => remove.run()}
    >
      <p>
        The message and its files are deleted here{isOnly && ', and the conversation with it'}. This cannot be
        undone.
        {mail.direction === 'outbound' && ' It is still sent.'}
      </p>
    </ConfirmButton>
  );
}
