// The screen Profiles, which is loaded when it is first opened: its validation is larger than all
// other screens together.

import { useEffect, useState } from 'preact/hooks';
import { Notice } from '#console/parts/notice.tsx';
import { Screen } from '#console/parts/screen.tsx';

type Loaded = typeof import('./profiles.tsx');

let loaded: Loaded | undefined;

export function ProfilesScreen() {
  const [screen, setScreen] = useState(loaded);
  const [isMissing, setMissing] = useState(false);
  const load = () => {
    setMissing(false);
    import('./profiles.tsx').then(
      (module) => {
        loaded = module;
        setScreen(module);
      },
      () => setMissing(true),
    );
  };
  useEffect(load, []);
  if (screen) return <screen.ProfilesScreen />;
  return (
    <Screen title="Profiles">
      {isMissing && (
        <Notice tone="error" action={{ title: 'Try again', run: load }}>
          This screen could not be loaded. If that lasts, the console was updated: reload the page.
        </Notice>
      )}
    </Screen>
  );
}
