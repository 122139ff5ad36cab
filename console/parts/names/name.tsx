// A server, project or user by its name, with the id on hover and to copy; by its id while the
// name is not known.

import { useEffect, useState } from 'preact/hooks';
import { Icon } from '#console/parts/icon.tsx';
import { None } from '#console/parts/status.tsx';
import { harmlessText } from '#console/parts/text.ts';
import { addressOf } from '#console/routes.ts';
import type { NamedKind } from '#console/session/name-book.ts';
import { useSession } from '#console/session/session.ts';

interface NameProps {
  readonly kind: NamedKind;
  readonly id: string | null | undefined;
}

export function Name({ kind, id }: NameProps) {
  if (!id) return <None />;
  return (
    <span class="named" title={id}>
      <NameText kind={kind} id={id} />
      <CopyButton id={id} />
    </span>
  );
}

export function ServerLink({ uuid }: { readonly uuid: string | null | undefined }) {
  if (!uuid) return <None />;
  return (
    <span class="named" title={uuid}>
      <a href={addressOf('servers', uuid)}>
        <NameText kind="servers" id={uuid} />
      </a>
      <CopyButton id={uuid} />
    </span>
  );
}

/** Empty while the name is not known. */
export function useName(kind: NamedKind, id: string): string {
  const { names } = useSession();
  const [name, setName] = useState<string>();
  useEffect(() => {
    setName(undefined);
    return names.watch(kind, id, setName);
  }, [names, kind, id]);
  return name === undefined ? '' : harmlessText(name);
}

/** Without the button that copies the id. */
export function NameText({ kind, id }: { readonly kind: NamedKind; readonly id: string }) {
  const text = useName(kind, id);
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
      <Icon name="copy" />
    </button>
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
