"""What the words of tool names mean in Chinese: names are English nearly everywhere, and users aren't.

General words of interfaces, over trade, travel, money, office, health and public services; nothing of one application.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_VERBS = """
get=查询 fetch=获取 read=读取 view=查看 show=显示 list=列出 look=查看 lookup=查询 find=查找 search=搜索 query=查询 check=查询
retrieve=获取 browse=浏览 create=新建 make=新建 add=添加 new=新建 open=开 submit=提交 file=提交 register=登记 record=记录 report=上报
log=记录 post=发布 insert=插入 book=预订 reserve=预订 order=订购 buy=购买 purchase=购买 rent=租 hire=雇 update=更新 change=修改
modify=修改 edit=编辑 set=设置 adjust=调整 rename=重命名 move=移动 cancel=取消 delete=删除 remove=移除 clear=清除 close=关闭 stop=停止
block=冻结 freeze=冻结 lock=锁定 unlock=解锁 activate=激活 deactivate=停用 enable=启用 disable=停用 start=开始 begin=开始 run=运行
pause=暂停 resume=恢复 send=发送 email=邮件 mail=邮件 notify=通知 remind=提醒 call=呼叫 contact=联系 message=消息 reply=回复 forward=转发
share=分享 print=打印 download=下载 upload=上传 export=导出 import=导入 pay=支付 charge=收费 refund=退款 return=退货 exchange=换货
replace=更换 transfer=转账 withdraw=取款 deposit=存款 recharge=充值 redeem=兑换 apply=申请 request=申请 claim=理赔 confirm=确认
verify=核实 validate=校验 approve=批准 reject=拒绝 assign=分配 schedule=安排 reschedule=改期 plan=规划 estimate=估算 calculate=计算
compute=计算 convert=换算 compare=比较 translate=翻译 summarize=总结 recommend=推荐 suggest=推荐 subscribe=订阅 unsubscribe=退订
track=跟踪 trace=跟踪 monitor=监控 ship=发货 deliver=配送 dispatch=派送 collect=领取 renew=续期 extend=延长 upgrade=升级 rate=评分
review=评价 complain=投诉 repair=维修 fix=修理 escalate=转人工 handoff=转人工 ask=询问 tell=告知 answer=回答 play=播放 turn=切换
"""
_NOUNS = """
order=订单 orders=订单 item=商品 product=商品 article=商品 goods=商品 catalog=目录 stock=库存 inventory=库存 availability=是否有货
logistics=物流 shipment=货运 shipping=物流 delivery=配送 parcel=包裹 package=包裹 tracking=物流 courier=快递 warehouse=仓库
ticket=工单 case=工单 issue=问题 problem=问题 complaint=投诉 fault=故障 defect=损坏 incident=事件 invoice=发票 receipt=收据 bill=账单
payment=付款 price=价格 cost=费用 fee=费用 discount=折扣 coupon=优惠券 voucher=代金券 promotion=促销 points=积分 loyalty=会员 member=会员
membership=会员 customer=客户 user=用户 profile=资料 account=账户 balance=余额 card=卡 loan=贷款 transaction=交易 statement=对账单
currency=货币 amount=金额 limit=额度 credit=信用 debit=借记 bank=银行 branch=网点 fund=基金 stockprice=股价 insurance=保险 policy=保单
address=地址 phone=电话 number=号码 name=姓名 password=密码 email=邮箱 contact=联系人 store=门店 shop=门店 hours=营业时间 location=位置
city=城市 map=地图 route=路线 traffic=路况 weather=天气 forecast=预报 temperature=气温 news=新闻 booking=预订 reservation=预订 room=房间
hotel=酒店 guest=客人 breakfast=早餐 checkin=入住 checkout=退房 flight=航班 train=火车 bus=公交 taxi=出租车 cab=出租车 car=汽车 seat=座位
trip=行程 luggage=行李 baggage=行李 passenger=乘客 visa=签证 passport=护照 boarding=登机 gate=登机口 restaurant=餐厅 table=桌位 menu=菜单
food=餐食 meal=餐食 appointment=预约 doctor=医生 patient=病人 prescription=处方 medicine=药品 hospital=医院 clinic=诊所 test=检测
course=课程 class=课程 student=学生 teacher=老师 grade=成绩 exam=考试 homework=作业 library=图书馆 book=图书 meeting=会议 event=活动
calendar=日历 schedule=日程 task=任务 todo=待办 reminder=提醒 alarm=闹钟 note=笔记 document=文档 file=文件 folder=文件夹 report=报告
project=项目 team=团队 employee=员工 leave=请假 vacation=休假 salary=工资 attendance=考勤 expense=报销 contract=合同 department=部门
status=状态 state=状态 detail=详情 details=详情 info=信息 information=信息 history=记录 record=记录 list=列表 summary=摘要 date=日期
time=时间 day=日子 plan=套餐 subscription=订阅 service=服务 support=客服 human=人工 agent=人工客服 warranty=保修 return=退货 refund=退款
exchange=换货 size=尺码 color=颜色 review=评价 rating=评分 device=设备 light=灯 music=音乐 song=歌曲 movie=电影 photo=照片 image=图片
video=视频 water=水 power=电 gas=燃气 meter=表 data=流量 network=网络 internet=宽带 signal=信号 sim=SIM卡 parking=停车 ticketing=票务
property=物品 lost=遗失 key=钥匙 lock=锁 pool=泳池 gym=健身房 taxrate=税率 tax=税 job=职位 resume=简历 interview=面试
code=码 id=编号 new=新 all=全部 my=我的 by=按 for= the= a= an= of= to=到 from=从 in= at= with= up= out= and=和
"""
_CHOICES = """
weekend=周末 weekday=工作日 morning=早上/上午 afternoon=下午 evening=晚上/傍晚 night=晚上/夜 today=今天 tomorrow=明天 yesterday=昨天
north=北 south=南 east=东 west=西 urgent=急 high=高 low=低 medium=中 normal=普通 standard=标准 express=加急/特快 fast=快 slow=慢
small=小 large=大 single=单 double=双 red=红 blue=蓝 green=绿 black=黑 white=白 yellow=黄 new=新 used=二手 cash=现金 card=卡
male=男 female=女 adult=成人/大人 child=儿童/小孩 hot=热 cold=冷/冰 chinese=中 western=西 economy=经济 business=商务 first=头等
celsius=摄氏 fahrenheit=华氏 open=开 closed=关 on=开 off=关 email=邮 phone=电话 sms=短信 pickup=自取 delivery=送 home=家 office=公司/办公
"""
_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")


def _table(text: str) -> Mapping[str, str]:
    return dict(entry.split("=", maxsplit=1) for entry in text.split())


VERBS = _table(_VERBS)
NOUNS = _table(_NOUNS)
CHOICES = _table(_CHOICES)


def name_in_chinese(name: str) -> str | None:
    """Say a tool's name in Chinese: `get_order` is 查询订单. None where half of its words are not known.

    Example:
        >>> name_in_chinese("createInvoice")
        '新建发票'
    """
    words = name_words(name)
    told = [_word(word, is_first=not place) for place, word in enumerate(words)]
    known = [word for word in told if word is not None]
    if 2 * len(known) <= len(words):
        return None
    return "".join(word if word is not None else original for word, original in zip(told, words, strict=True))


def name_words(name: str) -> list[str]:
    """The words a tool's name is made of, in small letters."""
    return [word.lower() for word in _SPLIT.split(name) if word]


def is_mentioned(choice: object, text: str) -> bool:
    """Tell whether a text names a choice, in the schema's word or in Chinese."""
    words = name_words(str(choice))
    return bool(words) and any(_stands(word, text.lower()) for word in words)


def _word(word: str, *, is_first: bool) -> str | None:
    tables = (VERBS, NOUNS) if is_first else (NOUNS, VERBS)
    forms = (word, word.removesuffix("s"), word.removesuffix("es"))
    return next((table[form] for table in tables for form in forms if form in table), None)


def _stands(word: str, text: str) -> bool:
    return word in text or any(said in text for said in CHOICES.get(word, word).split("/"))
