# SPDX-License-Identifier: GPL-2.0
"""Captured trees for -o sysroot=: what sysfs and /proc of machines with GPUs look like."""
import os


def put(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def link(root, path, target):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)


class Card:
    """One GPU: folders of a device, with its card and render node, as the kernel lays them out."""

    def __init__(self, root, number, driver, bus='0000:03:00.0', status='active'):
        self.root, self.number, self.driver, self.bus = root, number, driver, bus
        self.dev = 'sys/devices/pci0000:00/' + bus
        card, render = 'card%d' % number, 'renderD%d' % (128 + number)
        for name in (card, render):
            os.makedirs(os.path.join(root, self.dev, 'drm', name))
            link(root, self.dev + '/drm/%s/device' % name, '../..')
            link(root, 'sys/class/drm/' + name, '../../devices/pci0000:00/%s/drm/%s' % (bus, name))
            put(root, 'dev/dri/' + name, '')
        link(root, self.dev + '/driver', '../../../bus/pci/drivers/' + driver)
        if status:
            self.put('power/runtime_status', status + '\n')

    def put(self, path, text):
        put(self.root, self.dev + '/' + path, text)

    def hwmon(self, name, text, n=3):
        self.put('hwmon/hwmon%d/%s' % (n, name), text)


def amdgpu(root, number, bus, status='active', kfd=None):
    """A discrete card of AMD's: all that facts D.2 lists. Returns what ought to be shown of it."""
    c = Card(root, number, 'amdgpu', bus, status)
    b = 1000 + number
    want = {'memory': {}, 'clock': {}, 'power': {}, 'temperature': {}, 'activity': {}}
    for kind, total in (('vram', 17163091968 + b), ('vis_vram', 268435456), ('gtt', 16 << 30)):
        for what, v in (('total', total), ('used', total // 7)):
            c.put('mem_info_%s_%s' % (kind, what), '%d\n' % v)
            want['memory']['%s_%s_bytes' % (kind, what)] = v
    for name, v in (('gpu_busy_percent', 37 + number), ('mem_busy_percent', 4)):
        c.put(name, '%d\n' % v)
        want['activity'][name] = v
    c.put('pp_dpm_sclk', '0: 500Mhz \n1: %dMhz *\n2: 2575Mhz \n' % b)
    want['clock'].update(sclk_level_hz=b * 10**6, sclk_min_hz=500 * 10**6, sclk_max_hz=2575 * 10**6)
    c.put('pp_dpm_mclk', 'S: 19Mhz *\n0: 96Mhz \n1: 1218Mhz \n')
    want['clock'].update(mclk_level_hz=19 * 10**6, mclk_min_hz=19 * 10**6, mclk_max_hz=1218 * 10**6)
    c.put('pp_dpm_pcie', '0: 2.5GT/s, x1 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n')
    for n, label, v in ((1, 'edge', 45000), (2, 'junction', -5000), (3, 'mem', 52000)):
        c.hwmon('temp%d_label' % n, label + '\n')
        c.hwmon('temp%d_input' % n, '%d\n' % v)
        c.hwmon('temp%d_crit' % n, '100000\n')
        want['temperature']['%s_celsius' % label] = '%.3f' % (v / 1000)
        want['temperature']['%s_crit_celsius' % label] = '100.000'
    for name, key, v in (('power1_average', 'power1_average_watts', 31000000), ('power1_cap', 'power1_cap_watts', 203000000)):
        c.hwmon(name, '%d\n' % v)
        want['power'][key] = '%.6f' % (v / 10**6)
    for n, label, v in ((1, 'sclk', 1234000000), (2, 'mclk', 96000000)):
        c.hwmon('freq%d_label' % n, label + '\n')
        c.hwmon('freq%d_input' % n, '%d\n' % v)
        want['clock'][label + '_hz'] = v
    c.hwmon('fan1_input', '1450\n')
    want['temperature']['fan1_rpm'] = 1450
    c.put('unique_id', '%016x\n' % (0x1f2e3d4c5b6a7900 + number))
    c.put('current_compute_partition', 'SPX\n')
    c.put('current_memory_partition', 'NPS1\n')
    if kfd:
        node = 'sys/class/kfd/kfd/topology/nodes/%d' % (number + 1)
        put(root, node + '/gpu_id', '%d\n' % kfd)
        put(root, node + '/properties', 'cpu_cores_count 0\nsimd_count 64\nlocation_id 768\ndomain 0\n'
            'drm_render_minor %d\n' % (128 + number))
    return c, want


def process(root, pid, uid, comm, fds):
    """One process; FDS: {number: (what it is, text of its fdinfo)}"""
    p = 'proc/%d/' % pid
    put(root, p + 'stat', '%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n' % (pid, comm, pid * 10))
    put(root, p + 'status', 'Name:\t%s\nUid:\t%d\t%d\t%d\t%d\n' % ((comm,) + (uid,) * 4))
    put(root, p + 'cgroup', '0::/user.slice/user-%d.slice\n' % uid)
    for fd, (node, text) in fds.items():
        link(root, p + 'fd/%d' % fd, node)
        put(root, p + 'fdinfo/%d' % fd, text)


def fdinfo(client, engines, memory, driver='amdgpu', more=''):
    """As amdgpu before Linux 6.10 prints it: KiB, one key for memory"""
    t = 'pos:\t0\nflags:\t02100002\nmnt_id:\t25\nino:\t9\ndrm-driver:\t%s\ndrm-pdev:\t0000:03:00.0\n' % driver
    t += 'drm-client-id:\t%d\n' % client if client is not None else ''
    t += ''.join('drm-memory-%s: \t%d KiB\n' % m for m in memory.items())
    return t + ''.join('drm-engine-%s:\t%d ns\n' % e for e in engines.items()) + more


def xe(root, number, bus):
    c = Card(root, number, 'xe', bus)
    want = {'clock': {}, 'power': {}, 'temperature': {}}
    for name, v in (('act', 1450), ('cur', 2400), ('min', 300), ('max', 2400)):
        c.put('tile0/gt0/freq0/%s_freq' % name, '%d\n' % v)
        want['clock']['tile0_gt0_%s_hz' % name] = v * 10**6
    c.hwmon('energy1_input', '987654321\n')
    c.hwmon('power1_max', '190000000\n')
    c.hwmon('temp2_input', '51000\n')
    want['power'].update(energy1_joules='987.654321', power1_max_watts='190.000000')
    want['temperature']['temp2_celsius'] = '51.000'
    return c, want


def i915(root, number, bus):
    c = Card(root, number, 'i915', bus, None)
    want = {'clock': {}}
    for name, v in (('act', 300), ('cur', 350), ('min', 300), ('max', 1150)):
        c.put('drm/card%d/gt_%s_freq_mhz' % (number, name), '%d\n' % v)
        want['clock']['gt_%s_hz' % name] = v * 10**6
        c.put('drm/card%d/gt/gt0/rps_%s_freq_mhz' % (number, name), '%d\n' % (v + 1))
        want['clock']['gt0_%s_hz' % name] = (v + 1) * 10**6
    return c, want


def words(begin, w, pad='    '):
    """Lines of a hex dump: 8 words each, behind the address of the first"""
    return ''.join('%s%08x: %s\n' % (pad, begin + 4 * i, ' '.join('%08x' % v for v in w[i:i + 8]))
                   for i in range(0, len(w), 8))


def registers(q, mapped=False):
    """The 56 registers of a compute queue from CP_MQD_BASE_ADDR on, by what they mean"""
    w = [0] * 56
    w[0:3] = q['mqd'] & 0xffffffff, q['mqd'] >> 32, q['active']
    w[3] = q['vmid'] << 8 | q['vmid'] if mapped else 0
    w[4:8] = 0x40005301, 1, 7, 0x111
    w[8:11] = q['base'] >> 8 & 0xffffffff, q['base'] >> 40, q['rptr']
    w[15] = q['doorbell'] | (3 << 29 if mapped else 2)
    w[17] = 0x1401c500 | (q['size'] // 4).bit_length() - 2
    w[54:56] = q['wptr'] & 0xffffffff, q['wptr'] >> 32
    return w


def sdma_registers(q):
    log = (q['size'] // 4).bit_length() - 1
    return [0x03060000 | log << 1 | q['active'], q['base'] >> 8 & 0xffffffff, q['base'] >> 40,
            q['rptr'] & 0xffffffff, q['rptr'] >> 32, q['wptr'] & 0xffffffff, q['wptr'] >> 32, 0x403000]


def mqds(queues, parts=2, pasid='0x%x'):
    """kfd/mqds of debugfs: of each process the queue first that was made last"""
    t = ''
    for pid in dict.fromkeys(q['pid'] for q in queues):
        t += ('Process %d PASID ' + pasid + ':\n') % (pid, pid)
        for q in reversed([q for q in queues if q['pid'] == pid]):
            if q['type'] == 'sdma':
                t += '  SDMA queue on device %x\n' % q['gpu'] + words(0, sdma_registers(q) + [0] * 24)
                continue
            t += '  Compute queue on device %x\n' % q['gpu']
            for part in range(parts):
                own = dict(q, mqd=q['mqd'] + part * 0x3000)
                t += words(0, [0xc0310800] + [0] * 127 + registers(own) + [0] * 72)
    return t


def hqds(gpus, slots):
    """kfd/hqds of debugfs; SLOTS: (gpu, part, pipe, queue) or (gpu, engine, number) to a queue"""
    none = dict(mqd=0, active=0, vmid=0, base=0, rptr=0, doorbell=0, size=8, wptr=0)
    t = ''
    for node, gpu in enumerate(gpus):
        t += 'Node %d, gpu_id %x:\n' % (node + 1, gpu)
        for part in range(2):
            t += '   Inst %d, HIQ on MEC 2 Pipe 0 Queue 0\n' % part + words(0xc914, registers(dict(none, active=1), True))
            for pipe in range(2):
                for number in range(2, 4):
                    q = slots.get((gpu, part, pipe, number), none)
                    t += ' Inst %d,  CP Pipe %d, Queue %d\n' % (part, pipe, number) + words(0xc914, registers(q, True))
        for engine in range(2):
            t += '  SDMA Engine %d, RLC 0\n' % engine + words(0x4e40 + 0x1800 * engine, sdma_registers(slots.get((gpu, engine, 0), none)))
            t += '  SDMA Engine %d, RLC 1\n' % engine
    return t
