import { Screen } from '../parts/screen.tsx';

export function ProfilesScreen() {
  return <Screen title="Profiles">Later.</Screen>;
}
