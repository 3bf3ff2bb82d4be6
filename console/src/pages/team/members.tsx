import { api, call, type Schemas } from '../../api/client.ts';
import type { Role } from '../../api/session.ts';
import { useReloadSignedIn } from '../../shell/reload-signed-in.ts';
import { LeaveButton } from '../../shell/leave-button.tsx';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { fullNameOf } from '../../ui/contact-text.ts';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { Select } from '../../ui/field.tsx';
import type { TableColumn } from '../../ui/table.tsx';
import { grantable, isRole } from './roles.ts';

type Member = Schemas['Member'];

interface Viewer {
  ownId: number;
  ownRole: Role;
}

/** The columns of the table of users, with what the viewer may do to each. */
export function memberColumns(viewer: Viewer): readonly TableColumn<Member>[] {
  return [
    {
      key: 'email',
      header: 'User',
      width: '20rem',
      cell: (member) => (
        <>
          {fullNameOf(member) || member.email}
          {member.id === viewer.ownId && <span className="muted"> (you)</span>}
          {fullNameOf(member) !== '' && <div className="muted">{member.email}</div>}
        </>
      ),
    },
    {
      key: 'role',
      header: 'Role',
      width: '9rem',
      cell: (member) => <RoleSelect member={member} viewer={viewer} />,
    },
    {
      key: 'second_factor',
      header: 'Second factor',
      cell: ({ second_factor: on }) => (
        <StatusBadge status={on ? 'on' : 'off'} tone={on ? 'good' : 'quiet'} />
      ),
    },
    { key: 'last_active_at', header: 'Last active', cell: (member) => <Time at={member.last_active_at} /> },
    { key: 'created_at', header: 'Since', cell: (member) => <Time at={member.created_at} />, wideOnly: true },
    {
      key: 'actions',
      header: 'Actions',
      cell: (member) => {
        if (member.id === viewer.ownId) return <LeaveButton />;
        return grantable(viewer.ownRole).includes(member.role) ? <RemoveButton member={member} /> : null;
      },
    },
  ];
}

function RoleSelect({ member, viewer }: { member: Member; viewer: Viewer }) {
  const reloadSignedIn = useReloadSignedIn();
  const change = useAction({
    work: (role: Role) =>
      call(() => api.PATCH('/v1/my/users/{id}', { params: { path: { id: member.id } }, body: { role } })),
    done: ({ role }) => `${member.email} is now ${role}.`,
    refresh: ['users', 'invitations'],
    onDone: () => (member.id === viewer.ownId ? void reloadSignedIn() : undefined),
  });
  const roles = grantable(viewer.ownRole);
  if (!roles.includes(member.role)) return <>{member.role}</>;
  return (
    <Select
      aria-label={`Role of ${member.email}`}
      value={member.role}
      options={roles}
      disabled={change.busy}
      onChange={({ target: { value } }) => isRole(value) && change.run(value)}
    />
  );
}

function RemoveButton({ member }: { member: Member }) {
  const remove = useAction({
    work: () => call(() => api.DELETE('/v1/my/users/{id}', { params: { path: { id: member.id } } })),
    done: `${member.email} is no longer in the account.`,
    refresh: ['users', 'invitations'],
  });
  return (
    <ConfirmButton
      label="Remove"
      title={`Remove ${member.email}?`}
      busy={remove.busy}
      onConfirm={() => remove.run()}
    >
      <p>They and their assistants lose access at once. API keys that they created stay.</p>
    </ConfirmButton>
  );
}
