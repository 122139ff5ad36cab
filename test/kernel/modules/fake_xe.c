// SPDX-License-Identifier: GPL-2.0
/*
 * fake_xe: a driver of GPUs that share themselves among virtual functions, for
 * functions of fake_pci. Its files are those of Intel's driver xe, as in
 * Documentation/ABI/testing/sysfs-driver-intel-xe-sriov.
 *
 *   modprobe fake_xe card=8086:e211 vram_mib=16384
 *
 * sriov_admin/
 *   .bulk_profile/sched_priority     for all functions; write only
 *   vfN/profile/vram_quota           bytes, rounded up to 2 MiB
 *   vfN/profile/exec_quantum_ms, preempt_timeout_us, sched_priority
 *   vfN/device                       link to the function while it exists
 *
 * EINVAL: not a number, or not a priority; EIO: more memory than the card has.
 * Functions without memory get equal shares when they are made; all memory is
 * released with them. quantum_ms is the time that all functions get when they
 * are made, whatever was written before; 0 leaves it.
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#define VRAM_PAGE	(2ull << 20)
#define VFS	64

static char *card = "8086:e211";
module_param(card, charp, 0444);
static unsigned int vram_mib = 16384;
module_param(vram_mib, uint, 0444);
static unsigned int quantum_ms;
module_param(quantum_ms, uint, 0644);

struct gpu;

struct share {
	struct kobject kobj;
	struct gpu *gpu;
	u64 vram;
	u32 quantum;
	u32 timeout;
};

struct gpu {
	struct kobject admin;
	struct pci_dev *pdev;
	struct mutex lock;
	bool normal;
	int total;
	struct share *share[VFS];
};

struct share_attribute {
	struct attribute attr;
	ssize_t (*show)(struct share *s, char *buf);
	ssize_t (*store)(struct share *s, const char *buf, size_t n);
};

static ssize_t show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct share_attribute *a = container_of(attr, struct share_attribute, attr);

	return a->show(container_of(kobj, struct share, kobj), buf);
}

static ssize_t store(struct kobject *kobj, struct attribute *attr, const char *buf, size_t n)
{
	struct share_attribute *a = container_of(attr, struct share_attribute, attr);
	struct share *s = container_of(kobj, struct share, kobj);
	ssize_t err;

	mutex_lock(&s->gpu->lock);
	err = a->store(s, buf, n);
	mutex_unlock(&s->gpu->lock);
	return err ?: n;
}

static u64 others(struct share *s)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < s->gpu->total; i++)
		if (s->gpu->share[i] != s)
			sum += s->gpu->share[i]->vram;
	return sum;
}

static ssize_t vram_quota_show(struct share *s, char *buf)
{
	return sysfs_emit(buf, "%llu\n", s->vram);
}

static ssize_t vram_quota_store(struct share *s, const char *buf, size_t n)
{
	u64 size;
	int err = kstrtou64(buf, 0, &size);

	if (err)
		return err;
	size = (size + VRAM_PAGE - 1) & ~(VRAM_PAGE - 1);
	if (size + others(s) > (u64)vram_mib << 20)
		return -EIO;
	s->vram = size;
	return 0;
}

static ssize_t exec_quantum_ms_show(struct share *s, char *buf)
{
	return sysfs_emit(buf, "%u\n", s->quantum);
}

static ssize_t exec_quantum_ms_store(struct share *s, const char *buf, size_t n)
{
	return kstrtou32(buf, 0, &s->quantum);
}

static ssize_t preempt_timeout_us_show(struct share *s, char *buf)
{
	return sysfs_emit(buf, "%u\n", s->timeout);
}

static ssize_t preempt_timeout_us_store(struct share *s, const char *buf, size_t n)
{
	return kstrtou32(buf, 0, &s->timeout);
}

static ssize_t sched_priority_show(struct share *s, char *buf)
{
	return sysfs_emit(buf, s->gpu->normal ? "low [normal]\n" : "[low] normal\n");
}

#define SHARE_RW(name) static struct share_attribute name##_attribute = \
	__ATTR(name, 0644, name##_show, name##_store)

SHARE_RW(vram_quota);
SHARE_RW(exec_quantum_ms);
SHARE_RW(preempt_timeout_us);
static struct share_attribute sched_priority_attribute =
	__ATTR(sched_priority, 0444, sched_priority_show, NULL);

static struct attribute *share_attributes[] = {
	&vram_quota_attribute.attr,
	&exec_quantum_ms_attribute.attr,
	&preempt_timeout_us_attribute.attr,
	&sched_priority_attribute.attr,
	NULL
};

static const struct attribute_group share_group = {
	.name = "profile",
	.attrs = share_attributes,
};

static const struct attribute_group *share_groups[] = { &share_group, NULL };

static const struct sysfs_ops share_ops = { .show = show, .store = store };

static void share_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct share, kobj));
}

static struct kobj_type share_type = {
	.release = share_release,
	.sysfs_ops = &share_ops,
	.default_groups = share_groups,
};

static ssize_t bulk_store(struct kobject *kobj, struct attribute *attr, const char *buf, size_t n)
{
	struct gpu *g = container_of(kobj, struct gpu, admin);

	if (sysfs_streq(buf, "normal"))
		g->normal = true;
	else if (sysfs_streq(buf, "low"))
		g->normal = false;
	else
		return -EINVAL;
	return n;
}

static ssize_t bulk_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	return -EPERM;
}

static struct attribute bulk_priority = { .name = "sched_priority", .mode = 0200 };
static struct attribute *bulk_attributes[] = { &bulk_priority, NULL };

static const struct attribute_group bulk_group = {
	.name = ".bulk_profile",
	.attrs = bulk_attributes,
};

static const struct attribute_group *bulk_groups[] = { &bulk_group, NULL };

static const struct sysfs_ops bulk_ops = { .show = bulk_show, .store = bulk_store };

static void admin_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct gpu, admin));
}

static struct kobj_type admin_type = {
	.release = admin_release,
	.sysfs_ops = &bulk_ops,
	.default_groups = bulk_groups,
};

static void release_shares(struct gpu *g)
{
	int i;

	for (i = 0; i < g->total; i++) {
		g->share[i]->vram = 0;
		g->share[i]->quantum = 0;
		g->share[i]->timeout = 0;
	}
}

static void share_equally(struct gpu *g, int count)
{
	u64 all = (u64)vram_mib << 20, equal = div_u64(all, count) & ~(VRAM_PAGE - 1);
	bool given = false;
	int i;

	for (i = 0; i < count; i++)
		given |= g->share[i]->vram != 0;
	for (i = 0; i < count; i++) {
		if (!given)
			g->share[i]->vram = equal;
		if (quantum_ms)
			g->share[i]->quantum = quantum_ms;
	}
}

static void unlink_functions(struct gpu *g)
{
	int i;

	for (i = 0; i < pci_num_vf(g->pdev); i++)
		sysfs_remove_link(&g->share[i]->kobj, "device");
}

static void link_functions(struct gpu *g)
{
	struct pci_dev *vf = NULL;
	int number;

	for_each_pci_dev(vf) {
		if (!vf->is_virtfn || pci_physfn(vf) != g->pdev)
			continue;
		number = pci_iov_vf_id(vf);
		if (sysfs_create_link(&g->share[number]->kobj, &vf->dev.kobj, "device"))
			pci_warn(g->pdev, "no link to function %d\n", number + 1);
	}
}

static int configure(struct pci_dev *pdev, int count)
{
	struct gpu *g = pci_get_drvdata(pdev);
	int err;

	if (!count) {
		unlink_functions(g);
		pci_disable_sriov(pdev);
		release_shares(g);
		return 0;
	}
	mutex_lock(&g->lock);
	share_equally(g, count);
	mutex_unlock(&g->lock);
	err = pci_enable_sriov(pdev, count);
	if (err)
		return err;
	link_functions(g);
	return count;
}

static void end(struct pci_dev *pdev)
{
	struct gpu *g = pci_get_drvdata(pdev);
	int i;

	unlink_functions(g);
	pci_disable_sriov(pdev);
	for (i = 0; i < g->total && g->share[i]; i++)
		kobject_put(&g->share[i]->kobj);
	kobject_put(&g->admin);
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct gpu *g;
	int i, err;

	if (pdev->is_virtfn)
		return -ENODEV;
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return -ENOMEM;
	mutex_init(&g->lock);
	g->pdev = pdev;
	g->total = min(pci_sriov_get_totalvfs(pdev), VFS);
	pci_set_drvdata(pdev, g);
	err = kobject_init_and_add(&g->admin, &admin_type, &pdev->dev.kobj, "sriov_admin");
	for (i = 0; !err && i < g->total; i++) {
		struct share *s = kzalloc(sizeof(*s), GFP_KERNEL);

		err = -ENOMEM;
		if (!s)
			break;
		s->gpu = g;
		g->share[i] = s;
		err = kobject_init_and_add(&s->kobj, &share_type, &g->admin, "vf%d", i + 1);
	}
	if (err)
		end(pdev);
	return err;
}

static struct pci_driver driver = {
	.name = "xe",
	.probe = probe,
	.remove = end,
	.sriov_configure = configure,
	.driver_managed_dma = true,
};

static int __init fake_xe_init(void)
{
	unsigned int vendor, device;
	int err = pci_register_driver(&driver);

	if (err)
		return err;
	if (sscanf(card, "%x:%x", &vendor, &device) != 2)
		err = -EINVAL;
	else
		err = pci_add_dynid(&driver, vendor, device, PCI_ANY_ID, PCI_ANY_ID, 0, 0, 0);
	if (err)
		pci_unregister_driver(&driver);
	return err;
}

static void __exit fake_xe_exit(void)
{
	pci_unregister_driver(&driver);
}

module_init(fake_xe_init);
module_exit(fake_xe_exit);
MODULE_DESCRIPTION("driver of GPUs that share themselves, for tests");
MODULE_LICENSE("GPL");
