// A server, project or user by its name, with the id on hover and to copy; by its id while the
// name is not known.

import { useEffect, useState } from 'preact/hooks';
import { addressOf } from '#console/routes.ts';
import type { NamedKind } from '#console/session/name-book.ts';
import { useSession } from '#console/session/session.ts';
import { harmlessText } from './text.ts';

interface NameProps {
  readonly kind: NamedKind;
  readonly id: string | null | undefined;
}

export function Name({ kind, id }: NameProps) {
  if (!id) return <span class="quiet">-</span>;
  return (
    <span class="named" title={id}>
      <NameText {...{ kind, id }} />
      <CopyButton {...{ id }} />
    </span>
  );
}

export function ServerLink({ uuid }: { readonly uuid: string | null | undefined }) {
  if (!uuid) return <span class="quiet">-</span>;
  return (
    <span class="named" title={uuid}>
      <a href={addressOf('servers', uuid)}>
        <NameText kind="servers" id={uuid} />
      </a>
      <CopyButton id={uuid} />
    </span>
  );
}

function NameText({ kind, id }: { readonly kind: NamedKind; readonly id: string }) {
  const { names } = useSession();
  const [name, setName] = useState<string>();
  useEffect(() => {
    setName(undefined);
    return names.watch(kind, id, setName);
  }, [names, kind, id]);
  const text = name === undefined ? '' : harmlessText(name);
  return text === '' ? <code class="id">{id}</code> : <bdi class="name">{text}</bdi>;
}

function CopyButton({ id }: { readonly id: string }) {
  const { say } = useSession();
  const copy = () =>
    navigator.clipboard.writeText(id).then(
      () => say(`Copied ${id}.`),
      () => say(`The browser does not let the page copy ${id}.`),
    );
  return (
    <button type="button" class="copy" aria-label={`Copy ${id}`} onClick={copy}>
      <CopyIcon />
    </button>
  );
}

/** Drawn, because many fonts have no such sign. */
function CopyIcon() {
  return (
    <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
      <g fill="none" stroke="currentColor" stroke-width="1.5">
        <rect x="5.5" y="5.5" width="9" height="9" rx="1.5" />
        <path d="M3.5 10.5h-1a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1h7a1 1 0 0 1 1 1v1" />
      </g>
    </svg>
  );
}

/** The actor of a record: `user:<id>`, or a part of the service. */
export function Actor({ by }: { readonly by: string }) {
  if (!by.startsWith('user:')) return <>{by}</>;
  return (
    <>
      user <Name kind="users" id={by.slice('user:'.length)} />
    </>
  );
}
